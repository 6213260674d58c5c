# A Homebrew formula, for a tap. Never run so far.
#   brew install --HEAD ./packaging/macos/highwater.rb
class Highwater < Formula
  desc "Profiler and memory monitor for PyTorch training on MPS"
  homepage "https://github.com/highwater/highwater"
  license "GPL-3.0-or-later"
  head "https://github.com/highwater/highwater.git", branch: "main"

  depends_on "cmake" => :build
  depends_on "cli11" => :build
  depends_on "flatbuffers" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "pkgconf" => :build
  depends_on "protozero" => :build
  depends_on arch: :arm64
  depends_on macos: :sonoma
  depends_on "pytorch"
  depends_on "qtbase"
  depends_on "qtsvg"
  depends_on "zstd"

  uses_from_macos "sqlite"
  uses_from_macos "zlib"

  def install
    torch = Dir[Formula["pytorch"].opt_prefix/"**/share/cmake/Torch"].first
    odie "pytorch holds no TorchConfig.cmake" if torch.nil?
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DHIGHWATER_TESTS=OFF",
                    "-DTorch_DIR=#{torch}", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    system bin/"highwater", "record", "--device", "cpu", "--steps", "2", "--batch", "4", "--seq", "16",
                            "-o", "run.highwater"
    assert_match(/"steps": *2\b/, shell_output("#{bin}/highwater report run.highwater --json"))
  end
end
