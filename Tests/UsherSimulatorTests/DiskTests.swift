import Foundation
import Testing
import UsherTestKit

/// The simulated disk replaces functions of the C library, which must not happen in the tests. So
/// the scenarios are C, and each runs in a process of its own.
@Suite("The simulated disk", .mayBlock, .timeLimit(.minutes(5)))
struct DiskTests {
  @Test(
    "what is on the disk after a failure is what a file system could leave",
    arguments: [
      "a write that is not synced may be lost, sector by sector",
      "a write that is synced is kept",
      "what a failed sync dropped is not synced by the next one",
      "a file may lose its growth, and what it grew by",
      "a write is appended",
      "a write is at the position of the descriptor",
      "a truncation is lost as a whole or not at all",
      "what is written after a truncation is lost with it",
      "what was written before a truncation that is lost may be lost, too",
      "what a truncation cut off does not come back where the file grows again",
      "what a truncation leaves is written independently of it",
      "two truncations are lost in their order",
      "what a synced truncation cut off does not come back",
      "a truncation within a sector",
      "an allocation may be lost",
      "a new file may be lost until the directory is synced",
      "a rename may be lost until the directory is synced",
      "a rename that replaces a file is lost as a whole",
      "a rename does not sync the file",
      "renames are lost in their order",
      "a removal may be lost until the directory is synced",
      "a removal and a creation are lost in their order",
      "a link may be lost until the directory is synced",
      "a change of a name that fails is none",
      "a kill carries over the writes that were not synced",
      "a sync that a kill prevents drops nothing",
      "a kill carries over what a failed sync dropped",
      "a kill carries over the sizes that were not synced",
      "a kill carries over the names that were not synced",
      "a kill carries over a removal that was not synced",
      "two kills carry over what both processes did not sync",
      "a power failure leaves nothing that is not synced",
      "a kill ends the use of descriptors, and keeps the modes of files",
      "a disk stops as if the process was killed",
      "a disk fails once, or until it is healed",
      "descriptors run out",
      "a full disk refuses growth only",
      "a full disk gets room back",
      "a full disk loses what it had room for",
      "a number of a descriptor is used again",
      "the index of the write-ahead log is memory",
      "the seed determines what is lost",
      "a use that is not simulated ends the process",
    ])
  func scenario(_ name: String) throws {
    let place = try TemporaryDirectory()
    let end = try run(try Self.compiled.get().file("scenarios"), [name, place.path])
    #expect(end.status == 0, "\(end.errors)")
  }

  @Test("each scenario of the program is a case of the test")
  func names() throws {
    let end = try run(try Self.compiled.get().file("scenarios"), [])
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    for name in end.output.split(separator: "\n") {
      #expect(source.contains("\n      \"\(name)\",\n"))
    }
  }

  /// The directory of the program. Compiled once for all tests.
  private static let compiled = Result {
    let place = try TemporaryDirectory()
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let kernel = tests.appendingPathComponent("../../Sources/Tools/CSimulatedKernel").standardized
    let disk = ["disk", "unsynced", "power", "move", "calls", "names", "refused", "descriptors"]
    let scenarios = ["main", "contents", "names", "kills", "faults"]
    let sources =
      disk.map { kernel.appendingPathComponent("\($0).c").path }
      + scenarios.map { tests.appendingPathComponent("DiskScenarios/\($0).c").path }
    let built = try run(
      "/usr/bin/env",
      [
        "clang", "-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-result",
        "-I\(kernel.path)/include", "-o", place.file("scenarios"),
      ] + sources)
    guard built.status == 0 else {
      throw TestError("cannot compile the simulated disk: \(built.errors)")
    }
    return place
  }
}
