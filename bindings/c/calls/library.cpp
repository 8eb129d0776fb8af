#include "last_error.h"
#include "tinynn.h"

using namespace toy::capi;

int tnn_abi_version(void) { return TNN_ABI_VERSION; }
const char* tnn_last_error(void) { return last_error(); }
void* tnn_null_ptr(void) { return nullptr; }
// The number that programs of the older library compare with.
int tnn_link_check(void) { return 73; }
