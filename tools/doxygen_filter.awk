# Turns comments into those that Doxygen reads: a block before a declaration
# describes it, one behind it on its line too, and the first of a file the file.
# Signs that mean something to Doxygen mean themselves in our comments.

function escaped(text) {
  gsub(/[\\@<>#%&"$]/, "\\\\&", text)
  return text
}

# Where a comment begins in a line that has code before it; texts that hold
# slashes are rare in headers, and begin behind a quote.
function trailing(line) {
  if (line ~ /".*\/\//) return 0
  return match(line, /[^ ] +\/\/ /)
}

/^ *\/\/( |$)/ {
  indent = $0
  sub(/\/\/.*/, "", indent)
  text = $0
  sub(/^ *\/\/ ?/, "", text)
  if (NR == 1) print "/// @file"
  # Code within a comment stands further in.
  print indent "/// " escaped(text)
  next
}

trailing($0) && $0 !~ /NOLINT/ {
  print substr($0, 1, RSTART) "  ///< " escaped(substr($0, RSTART + RLENGTH))
  next
}

{ print }
