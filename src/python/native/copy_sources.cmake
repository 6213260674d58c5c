# What torch_part.cpp includes: cmake -D source= -D generated= -D flatbuffers= -D to= -P copy_sources.cmake. Copies keep
# their times, by which the Python package tells an old library.
foreach(folder core wire probe process python/native)
  get_filename_component(parent "${folder}" DIRECTORY)
  file(COPY "${source}/src/${folder}" DESTINATION "${to}/include/${parent}"
    FILES_MATCHING PATTERN "*.h" PATTERN "*.cpp" PATTERN "LICENSE")
endforeach()
file(COPY "${source}/src/simmps/simmps.h" DESTINATION "${to}/include/simmps")
foreach(folder core wire)
  file(COPY "${generated}/${folder}" DESTINATION "${to}/include")
endforeach()
file(COPY "${flatbuffers}/flatbuffers" DESTINATION "${to}/include")
file(COPY "${source}/src/python/native/exports.map" DESTINATION "${to}")
