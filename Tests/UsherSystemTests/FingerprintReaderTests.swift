import Testing
import UsherTestKit

@testable import UsherSystem

@Suite(
  "Fingerprint scans with the real fprintd", .mayBlock,
  .enabled(if: FprintdUnderTest.isPossible, noFprintd), .timeLimit(.minutes(10)))
struct FingerprintReaderTests {
  @Test("an enrolled finger matches; an unknown finger and another user's finger do not")
  func verdicts() async throws {
    let alice = try await Alice()
    #expect(try await alice.verdict(Alice.known) == .match)
    #expect(try await alice.verdict(Alice.unknown) == .noMatch)
    // A reader error is not a verdict.
    await #expect(
      throws: FingerprintError.unavailable("the fingerprint reader failed: verify-unknown-error")
    ) {
      try await alice.verdict("ERROR 0")
    }
    // A user without prints has no fingers, cannot be verified, and does not keep the reader.
    #expect(try await alice.reader.enrolledFingers(of: "bob") == [])
    await #expect(throws: FingerprintError.notEnrolled) {
      try await alice.reader.verify(user: "bob", within: .seconds(90)) { _ in }
    }
    try await alice.fprintd.enrol(user: "bob", finger: "right-index-finger", print: "bob-index")
    #expect(try await alice.verdict("SCAN bob-index") == .noMatch, "it is bob's finger")
    #expect(try await alice.verdict(Alice.known) == .match)
  }

  @Test("any enrolled finger matches if the reader can tell fingers apart")
  func anyFinger() async throws {
    let alice = try await Alice(.identifying)
    try await alice.fprintd.enrol(user: "alice", finger: "left-thumb", print: "alice-thumb")
    #expect(try await alice.verdict("SCAN alice-thumb") == .match)
    #expect(try await alice.verdict(Alice.known) == .match)
    #expect(try await alice.verdict(Alice.unknown) == .noMatch)
  }

  @Test("a scan reports its hints in order, and the verdict after them")
  func hints() async throws {
    let alice = try await Alice()
    let scan = Scan(alice.reader, "alice", within: .seconds(90))
    try await alice.fprintd.script("RETRY 0", "RETRY 1", "RETRY 2", "RETRY 3", Alice.known)
    let hints = await scan.allHints()
    #expect(hints == [.retryScan, .swipeTooShort, .fingerNotCentered, .removeAndRetry])
    #expect(await scan.outcome == .success(.match))
  }

  @Test("a user's enrolled fingers are listed by name, and a new finger is added to the list")
  func fingers() async throws {
    let alice = try await Alice()
    #expect(try await alice.reader.enrolledFingers(of: "alice") == ["right-index-finger"])
    try await alice.fprintd.enrol(user: "alice", finger: "left-thumb", print: "alice-thumb")
    #expect(
      try await alice.reader.enrolledFingers(of: "alice") == ["left-thumb", "right-index-finger"])
  }

  @Test("a reader that is unplugged during a scan ends the scan, and later there is no reader")
  func unplug() async throws {
    let alice = try await Alice()
    let scan = try await alice.scan()
    try await alice.fprintd.unplug()
    #expect(await scan.outcome == .failure(.unplugged))
    // fprintd notices the removal a little later.
    var fingers = await attempted { () throws(FingerprintError) in
      try await alice.reader.enrolledFingers(of: "alice")
    }
    for _ in 1...1000 where fingers == .success(["right-index-finger"]) {
      fingers = await attempted { () throws(FingerprintError) in
        try await alice.reader.enrolledFingers(of: "alice")
      }
    }
    #expect(fingers == .failure(.noReader))
  }

  @Test("a cancelled scan releases the reader, the next scan matches, and no connection is left")
  func cancel() async throws {
    let alice = try await Alice()
    let before = try await alice.fprintd.connections()
    for _ in 1...3 {
      let scan = try await alice.scan()
      let releases = alice.fprintd.releases
      scan.task.cancel()
      #expect(await scan.outcome == .failure(.cancelled))
      #expect(alice.fprintd.releases == releases + 1)
    }
    #expect(try await alice.verdict(Alice.known) == .match)
    _ = try await alice.reader.enrolledFingers(of: "alice")
    #expect(try await alice.fprintd.connections() == before, "a bus connection is left")
    // A scan that is cancelled before it begins does not claim the reader.
    let scan = Scan(alice.reader, "alice", within: .seconds(90))
    scan.task.cancel()
    #expect(await scan.outcome == .failure(.cancelled))
    #expect(try await alice.fprintd.holder(user: "bob").isRunning)
  }

  @Test("a scan that begins before a cancelled one has released the reader waits for the release")
  func afterCancelledScan() async throws {
    let alice = try await Alice()
    for _ in 1...3 {
      let scan = try await alice.scan()
      scan.task.cancel()
      let next = Scan(alice.reader, "alice", within: .seconds(90))
      // Before its release, the reader would give the finger to the cancelled scan.
      #expect(await scan.outcome == .failure(.cancelled))
      try await alice.fprintd.script(Alice.known)
      #expect(await next.outcome == .success(.match))
    }
  }

  @Test("a scan ends at its time limit and releases the reader")
  func limit() async throws {
    let alice = try await Alice()
    let releases = alice.fprintd.releases
    // On a busy machine the limit may pass while the reader is claimed; it is released then, too.
    let scan = Scan(alice.reader, "alice", within: .milliseconds(100))
    #expect(await scan.outcome == .failure(.timedOut))
    #expect(alice.fprintd.releases == releases + 1)
    #expect(try await alice.verdict(Alice.known) == .match)
  }

  @Test("a second scan is refused at once, and the first one continues to its match")
  func secondCaller() async throws {
    let alice = try await Alice()
    let scan = try await alice.scan()
    await #expect(throws: FingerprintError.inUse) {
      try await alice.reader.verify(user: "bob", within: .seconds(90)) { _ in }
    }
    #expect(try await alice.reader.enrolledFingers(of: "alice") == ["right-index-finger"])
    try await alice.fprintd.script(Alice.known)
    #expect(await scan.outcome == .success(.match))
  }

  @Test("a reader claimed by another process is in use until that process ends")
  func heldElsewhere() async throws {
    let alice = try await Alice()
    let holder = try await alice.fprintd.holder(user: "bob")
    await #expect(throws: FingerprintError.inUse) {
      try await alice.reader.verify(user: "alice", within: .seconds(90)) { _ in }
    }
    #expect(try await alice.reader.enrolledFingers(of: "alice") == ["right-index-finger"])
    try await unblocking { holder.killAtOnce() }
    #expect(try await alice.verdict(Alice.known) == .match)
  }

  @Test("a match signalled by another bus client is ignored")
  func forged() async throws {
    let alice = try await Alice()
    let scan = try await alice.scan()
    try await alice.fprintd.forgeMatch()
    try await alice.fprintd.script(Alice.unknown)
    #expect(await scan.outcome == .success(.noMatch))
  }

  @Test("closing the reader ends the scan, and later calls are cancelled")
  func close() async throws {
    let alice = try await Alice()
    let scan = try await alice.scan()
    let releases = alice.fprintd.releases
    alice.reader.close()
    #expect(await scan.outcome == .failure(.cancelled))
    #expect(alice.fprintd.releases == releases + 1)
    await #expect(throws: FingerprintError.cancelled) {
      try await alice.reader.enrolledFingers(of: "alice")
    }
  }

  @Test("an invalid user name never reaches fprintd", arguments: ["", ".", "..", "a/b", "a\0b"])
  func names(user: String) async {
    let reader = FingerprintReader(address: "unix:path=/nonexistent")
    let problem = FingerprintError.notPermitted("that is not a valid user name")
    await #expect(throws: problem) { try await reader.enrolledFingers(of: user) }
    await #expect(throws: problem) {
      try await reader.verify(user: user, within: .seconds(90)) { _ in }
    }
  }
}
