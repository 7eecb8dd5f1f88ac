import Glibc
import Testing

@testable import UsherSystem

@Suite("Memory after a burst of work")
struct FreeMemoryTests {
  /// Returns the resident set size of this process, in bytes.
  private static func resident() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    fgets(&line, CInt(line.count), file)
    let fields = String(decoding: line.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
      separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
  }

  @Test("memory that a burst of work has freed is returned to the system")
  func release() async {
    await #expect(processExitsWith: .success) {
      // Too small for mappings of their own; the last block keeps the top of the heap in use.
      let blocks = (0..<500).map { _ in
        UnsafeMutableRawPointer.allocate(byteCount: 65_536, alignment: 16)
      }
      for block in blocks { memset(block, 1, 65_536) }
      let last = UnsafeMutableRawPointer.allocate(byteCount: 65_536, alignment: 16)
      for block in blocks { block.deallocate() }
      let before = Self.resident()
      FreeMemory.release()
      #expect(before - Self.resident() > 20_000_000)
      last.deallocate()
    }
  }
}
