# SPDX-License-Identifier: Apache-2.0
#
# cmake -D COREHOLD=PROGRAM -D OUT=FOLDER -D CHANGELOG=FILE -D DEBIAN_CHANGELOG=FILE
#   -P package_docs.cmake
# The manual page, the completion and the changelogs as a package has them.
file(MAKE_DIRECTORY ${OUT})

function(gzip from to)
  # Without name and time: the same content is the same file.
  execute_process(COMMAND gzip -9nc ${from} OUTPUT_FILE ${to} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

execute_process(COMMAND ${COREHOLD} manual OUTPUT_FILE ${OUT}/corehold.1 COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${COREHOLD} completion bash OUTPUT_FILE ${OUT}/completion.bash
  COMMAND_ERROR_IS_FATAL ANY)
gzip(${OUT}/corehold.1 ${OUT}/corehold.1.gz)
gzip(${CHANGELOG} ${OUT}/changelog.gz)
gzip(${DEBIAN_CHANGELOG} ${OUT}/changelog.Debian.gz)
file(TOUCH ${OUT}/stamp)
