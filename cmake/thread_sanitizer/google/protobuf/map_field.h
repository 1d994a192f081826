// protobuf's header, as its library was compiled. Under the thread sanitizer it
// adds members that find races between users of a map, and a library without
// the sanitizer would look for all others in the wrong places.
#pragma once

#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include_next <google/protobuf/map_field.h>
#pragma pop_macro("__SANITIZE_THREAD__")
