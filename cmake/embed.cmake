# Files, one after the other, as a C array:
# cmake "-DIN=FILE;..." -DOUT=FILE.c -DNAME=symbol -DHEADER=declares.h -P embed.cmake
set(bytes "")
foreach(file IN LISTS IN)
  file(READ ${file} more HEX)
  string(APPEND bytes "${more}")
endforeach()
string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "/* Made from ${NAME}; do not edit. */\n#include \"${HEADER}\"\n\nconst unsigned char ${NAME}[] = {\n${bytes}\n};\nconst size_t ${NAME}_size = sizeof ${NAME};\n")
