#pragma once
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace toy::jinja {

/// Python's format % value: %s %r %d %i %x %X %o %f %F %e %E %g %G %c %% with flags, width and precision; `value` is
/// one value, a tuple of them, or a dict for %(name)s.
Value format_percent(Run& run, const Value& format, const Value& value);
/// Python's str.format: {}, {0}, {name}, attributes and elements, !s and !r, and
/// [[fill]align][sign][width][,][.precision][type].
std::string format_braces(Run& run, std::string_view format, const Arguments& arguments);
/// Python's strftime, by the C library in its plain locale.
std::string format_time(Run& run, const std::string& format);

}  // namespace toy::jinja
