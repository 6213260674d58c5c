// The program's Info.plist, in the section where CoreFoundation looks for it in a program outside
// of a bundle. Not the linker's -sectcreate, which only Apple's linker knows.
asm(R"(
  .section __TEXT,__info_plist,regular,no_dead_strip
  .incbin ")" HIGHWATER_INFO_PLIST R"("
)");
