import Glibc
import Testing

@testable import UsherSystem

@Suite("Reading of files with a size limit")
struct DescriptorReadTests {
  /// Sizes on both sides of the first read of 64 KiB, and of the reads after it.
  @Test(
    "a file of any size is read whole, or up to the limit",
    arguments: [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073, 400_000])
  func whole(size: Int) throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("file")
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }
    try directory.write(bytes, to: "file")
    for limit in [size, size + 1, size / 2, 1 << 20] {
      #expect(
        try Descriptor.open(path, O_RDONLY).read(atMost: limit) == Array(bytes.prefix(limit)),
        "\(limit)")
    }
  }
}
