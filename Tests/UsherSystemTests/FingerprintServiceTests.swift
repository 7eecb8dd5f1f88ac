import Glibc
import Testing
import UsherTestKit

@testable import UsherSystem

@Suite(
  "Failures of fprintd, polkit and the message bus", .mayBlock,
  .enabled(if: FprintdUnderTest.isPossible, noFprintd),
  .timeLimit(.minutes(10)))
struct FingerprintServiceTests {
  private let verify = "net.reactivated.fprint.device.verify"
  private let setUserName = "net.reactivated.fprint.device.setusername"

  @Test("a fingerprint scan needs both polkit actions, and is not permitted with fewer")
  func actions() async throws {
    let alice = try await Alice()
    try await alice.fprintd.allow(only: [verify, setUserName])
    #expect(try await alice.reader.enrolledFingers(of: "alice") == ["right-index-finger"])
    #expect(try await alice.verdict(Alice.known) == .match)
    for allowed in [[], [verify], [setUserName]] {
      try await alice.fprintd.allow(only: allowed)
      let scan = Scan(alice.reader, "alice", within: .seconds(90))
      guard case .failure(.notPermitted(let words)) = await scan.outcome else {
        Issue.record("a scan began with only \(allowed) permitted: \(await scan.outcome)")
        continue
      }
      #expect(words.hasPrefix("Not Authorized: net.reactivated.fprint.device."))
      let fingers = await attempted { () throws(FingerprintError) in
        try await alice.reader.enrolledFingers(of: "alice")
      }
      guard case .failure(.notPermitted) = fingers else {
        Issue.record("the fingers were read with only \(allowed) permitted: \(fingers)")
        continue
      }
    }
  }

  @Test("if polkit does not reply, a fingerprint call fails after its time limit")
  func silentPolkit() async throws {
    let alice = try await Alice(callLimit: .milliseconds(50))
    try await alice.fprintd.silencePolkit()
    await #expect(throws: FingerprintError.unavailable("no answer in time")) {
      try await alice.reader.enrolledFingers(of: "alice")
    }
    await #expect(throws: FingerprintError.unavailable("no answer in time")) {
      try await alice.reader.verify(user: "alice", within: .seconds(90)) { _ in }
    }
  }

  @Test("a bus without fprintd is reported as a machine without a reader")
  func noService() async throws {
    let fprintd = try await FprintdUnderTest.start(withService: false)
    let reader = FingerprintReader(address: fprintd.busAddress, callLimit: .seconds(60))
    await #expect(throws: FingerprintError.noReader) {
      try await reader.enrolledFingers(of: "alice")
    }
    await #expect(throws: FingerprintError.noReader) {
      try await reader.verify(user: "alice", within: .seconds(90)) { _ in }
    }
  }

  @Test("without a message bus fingerprint calls are unavailable")
  func noBus() async {
    let reader = FingerprintReader(address: "unix:path=/nonexistent/bus")
    let problem = FingerprintError.unavailable("no message bus: No such file or directory")
    await #expect(throws: problem) { try await reader.enrolledFingers(of: "alice") }
    await #expect(throws: problem) {
      try await reader.verify(user: "alice", within: .seconds(90)) { _ in }
    }
  }

  @Test("the fingerprint reader uses the bus of DBUS_SYSTEM_BUS_ADDRESS")
  func environment() async throws {
    let fprintd = try await FprintdUnderTest.start(withService: false)
    await #expect(processExitsWith: .success) { [address = fprintd.busAddress as String] in
      setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1)
      await #expect(throws: FingerprintError.noReader) {
        try await FingerprintReader().enrolledFingers(of: "alice")
      }
      setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1)
      await #expect(
        throws: FingerprintError.unavailable("no message bus: No such file or directory")
      ) { try await FingerprintReader().enrolledFingers(of: "alice") }
    }
  }

  @Test("if the bus address does not speak D-Bus, a call fails after its time limit")
  func noBusAtAll() async throws {
    let directory = try TemporaryDirectory()
    let listener = try boundSocket(directory.file("bus"))
    defer { Glibc.close(listener) }
    let reader = FingerprintReader(
      address: "unix:path=\(directory.file("bus"))", callLimit: .milliseconds(20))
    await #expect(throws: FingerprintError.unavailable("no answer in time")) {
      try await reader.enrolledFingers(of: "alice")
    }
  }

  @Test("a fingerprint call that waits for a silent bus can be cancelled")
  func silentBus() async throws {
    let directory = try TemporaryDirectory()
    let listener = try boundSocket(directory.file("bus"))
    defer { Glibc.close(listener) }
    let reader = FingerprintReader(
      address: "unix:path=\(directory.file("bus"))", callLimit: .seconds(3600))
    let fingers = Task {
      await attempted { () throws(FingerprintError) in
        try await reader.enrolledFingers(of: "alice")
      }
    }
    Glibc.close(try accepted(listener))
    let waiting = Task {
      await attempted { () throws(FingerprintError) in
        try await reader.enrolledFingers(of: "alice")
      }
    }
    let connection = try accepted(listener)
    defer { Glibc.close(connection) }
    waiting.cancel()
    #expect(await waiting.value == .failure(.cancelled))
    guard case .failure(.unavailable) = await fingers.value else {
      Issue.record("the call on the closed connection did not fail as unavailable")
      return
    }
  }

  @Test("a second scan of the same daemon is refused without a message to the bus")
  func secondScan() async throws {
    let directory = try TemporaryDirectory()
    let listener = try boundSocket(directory.file("bus"))
    defer { Glibc.close(listener) }
    let reader = FingerprintReader(
      address: "unix:path=\(directory.file("bus"))", callLimit: .seconds(3600))
    let scan = Scan(reader, "alice", within: .seconds(3600))
    let connection = try accepted(listener)
    defer { Glibc.close(connection) }
    #expect(await Scan(reader, "alice", within: .seconds(3600)).outcome == .failure(.inUse))
    scan.task.cancel()
    #expect(await scan.outcome == .failure(.cancelled))
  }

  @Test("the fingerprint reader works again after the bus was down")
  func busComesBack() async throws {
    let alice = try await Alice()
    #expect(try await alice.reader.enrolledFingers(of: "alice") == ["right-index-finger"])
    try await alice.fprintd.killBus()
    await #expect(
      throws: FingerprintError.unavailable("no message bus: Connection refused")
    ) { try await alice.reader.enrolledFingers(of: "alice") }
    try await alice.fprintd.startAgain()
    #expect(try await alice.reader.enrolledFingers(of: "alice") == ["right-index-finger"])
    #expect(try await alice.verdict(Alice.known) == .match)
  }

  @Test("a message bus that dies during a scan ends the scan, and a later scan matches")
  func busDies() async throws {
    let alice = try await Alice()
    let scan = try await alice.scan()
    try await alice.fprintd.killBus()
    guard case .failure(.unavailable(let words)) = await scan.outcome else {
      Issue.record("the scan did not fail with the message bus: \(await scan.outcome)")
      return
    }
    #expect(words.hasPrefix("no message bus: "))
    try await alice.fprintd.startAgain()
    #expect(try await alice.verdict(Alice.known) == .match)
  }

  @Test("an fprintd that dies during a scan ends the scan, and a later scan matches")
  func serviceDies() async throws {
    let alice = try await Alice()
    let scan = try await alice.scan()
    try await alice.fprintd.killService()
    #expect(await scan.outcome == .failure(.unavailable("fprintd ended")))
    await #expect(throws: FingerprintError.noReader) {
      try await alice.reader.enrolledFingers(of: "alice")
    }
    try await alice.fprintd.startAgain()
    #expect(try await alice.verdict(Alice.known) == .match)
  }

  @Test("a match signal from before the scan is ignored")
  func staleMatch() async throws {
    let fprintd = try await FprintdUnderTest.start(withService: false)
    let imposter = try await fprintd.imposter(.stale)
    defer { withExtendedLifetime(imposter) {} }
    let reader = FingerprintReader(address: fprintd.busAddress, callLimit: .seconds(60))
    #expect(try await reader.verify(user: "alice", within: .seconds(90)) { _ in } == .noMatch)
  }

  @Test("an fprintd that replies with other types than its interface is unavailable")
  func garbled() async throws {
    let fprintd = try await FprintdUnderTest.start(withService: false)
    let imposter = try await fprintd.imposter(.garbled)
    defer { withExtendedLifetime(imposter) {} }
    let reader = FingerprintReader(address: fprintd.busAddress, callLimit: .seconds(60))
    let problem = FingerprintError.unavailable(
      "fprintd's answer does not match its interface")
    await #expect(throws: problem) { try await reader.enrolledFingers(of: "alice") }
    await #expect(throws: problem) {
      try await reader.verify(user: "alice", within: .seconds(90)) { _ in }
    }
  }

  @Test("a verdict counts even if fprintd stops replying after it")
  func mute() async throws {
    let fprintd = try await FprintdUnderTest.start(withService: false)
    let imposter = try await fprintd.imposter(.mute)
    defer { withExtendedLifetime(imposter) {} }
    let before = try await fprintd.connections()
    // The unanswered call must run into the limit, which also applies to the calls before it.
    // If those are late on a busy machine, a longer limit is tried.
    let limits: [Duration] = [.milliseconds(100), .seconds(1), .seconds(10)]
    var outcome: Result<FingerprintVerdict, FingerprintError>?
    for limit in limits where outcome != .success(.match) {
      let reader = FingerprintReader(address: fprintd.busAddress, callLimit: limit)
      outcome = await Scan(reader, "alice", within: .seconds(90)).outcome
    }
    #expect(outcome == .success(.match))
    #expect(try await fprintd.connections() == before)
  }
}
