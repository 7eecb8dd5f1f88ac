import Foundation
import Testing
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

private let right = Secret("till-4711")
private let wrong = Secret("till-4712")

@Suite("Passcodes", .timeLimit(.minutes(10)))
struct PasscodeServiceTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  private var service: LocalAuthService { harness.localAuth }

  private func enrol(_ person: LocalPerson = .anna) async throws {
    #expect(
      try await service.setPasscode(right, old: nil, isReset: false, of: person) == .done)
  }

  /// Another service on the same disk, as after `kill -9`.
  private func anotherService() throws -> LocalAuthService {
    let service = LocalAuthService.fake(harness.dependencies, harness.store, harness.reader)
    try service.restore()
    return service
  }

  private func guess(_ count: Int) async -> [PasscodeOutcome] {
    var outcomes: [PasscodeOutcome] = []
    for _ in 0..<count { outcomes.append(await service.check(wrong, of: .anna)) }
    return outcomes
  }

  @Test("a user has no passcode until one is set, and a passcode is valid for its user only")
  func known() async throws {
    #expect(await service.check(right, of: .anna) == .notEnrolled)
    try await enrol()
    #expect(await service.check(right, of: .anna) == .accepted)
    #expect(await service.check(right, of: .bert) == .notEnrolled)
    #expect(await service.availability(of: .anna).0.passcode == .ready)
    #expect(await service.availability(of: .bert).0.passcode == .notEnrolled)
  }

  @Test(
    "the fifth wrong passcode in a row locks the passcode, and the right one is refused until the end"
  )
  func locks() async throws {
    try await enrol()
    let until = harness.clock.now() + .seconds(30)
    #expect(
      await guess(5) == [
        .wrong(attemptsLeft: 4), .wrong(attemptsLeft: 3), .wrong(attemptsLeft: 2),
        .wrong(attemptsLeft: 1), .lockedOut(until: until),
      ])
    #expect(await service.check(right, of: .anna) == .lockedOut(until: until))
    #expect(await service.availability(of: .anna).0.passcode == .lockedOut(until: until))
    harness.clock.advance(by: .seconds(30))
    #expect(await service.check(right, of: .anna) == .accepted)
    #expect(await guess(1) == [.wrong(attemptsLeft: 4)], "a right passcode resets the count")
  }

  @Test("each lockout of the passcode is longer than the previous one")
  func grows() async throws {
    try await enrol()
    _ = await guess(4)
    for pause in AttemptCount.pauses + [.seconds(3600)] {
      let until = harness.clock.now() + pause
      #expect(await guess(2) == [.lockedOut(until: until), .lockedOut(until: until)])
      harness.clock.advance(by: pause)
    }
  }

  @Test("the attempt count and a lockout survive a restart and a clock that is set back")
  func survives() async throws {
    try await enrol()
    _ = await guess(3)
    #expect(await (try anotherService()).check(wrong, of: .anna) == .wrong(attemptsLeft: 1))
    harness.clock.advance(by: .seconds(1))
    let again = try anotherService()
    let until = harness.clock.now() + .seconds(30)
    #expect(await again.check(wrong, of: .anna) == .lockedOut(until: until))

    harness.clock.advance(by: .seconds(-86_400))
    let later = try anotherService()
    let reset = harness.clock.now() + .seconds(30)
    #expect(await later.check(right, of: .anna) == .lockedOut(until: reset))
    harness.clock.advance(by: .seconds(30))
    #expect(await later.check(right, of: .anna) == .accepted)
  }

  @Test("concurrent wrong passcodes are checked one by one, and each is counted")
  func atOnce() async throws {
    try await enrol()
    let outcomes = await withTaskGroup(of: PasscodeOutcome.self) { group in
      for _ in 1...8 { group.addTask { await service.check(wrong, of: .anna) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    let until = harness.clock.now() + .seconds(30)
    #expect(outcomes.count { $0 == .lockedOut(until: until) } == 4)
    for left in 1...4 { #expect(outcomes.contains(.wrong(attemptsLeft: left))) }
  }

  @Test("a passcode attempt that cannot be counted on disk is not checked")
  func uncounted() async throws {
    try await enrol()
    try harness.store.close()
    guard case .unavailable = await service.check(right, of: .anna) else {
      Issue.record("the passcode was checked although it could not be counted")
      return
    }
  }

  @Test("changing the passcode needs the old passcode, and a wrong old one counts as an attempt")
  func change() async throws {
    let new = Secret("till-4713")
    #expect(
      try await service.setPasscode(new, old: right, isReset: false, of: .anna)
        == .refused(.notEnrolled))
    try await enrol()
    #expect(try await service.setPasscode(new, old: nil, isReset: false, of: .anna) == .oldIsNeeded)
    #expect(
      try await service.setPasscode(new, old: wrong, isReset: false, of: .anna)
        == .refused(.wrong(attemptsLeft: 4)))
    #expect(
      try await service.setPasscode(new, old: right, isReset: false, of: .anna) == .done)
    #expect(await service.check(right, of: .anna) == .wrong(attemptsLeft: 4))
    #expect(await service.check(new, of: .anna) == .accepted)
  }

  @Test("wrong old passcodes lock the passcode, and a reset ends the lockout")
  func reset() async throws {
    try await enrol()
    _ = await guess(4)
    let until = harness.clock.now() + .seconds(30)
    let refused = PasscodeChange.refused(.lockedOut(until: until))
    #expect(
      try await service.setPasscode(right, old: wrong, isReset: false, of: .anna) == refused)
    #expect(
      try await service.setPasscode(right, old: right, isReset: false, of: .anna) == refused)
    let new = Secret("given out")
    #expect(try await service.setPasscode(new, old: nil, isReset: true, of: .anna) == .done)
    #expect(await (try anotherService()).check(new, of: .anna) == .accepted)
  }

  @Test("no file in the state directory contains a passcode")
  func sealed() async throws {
    try await enrol()
    _ = await guess(1)
    let files = harness.place.everything()
    #expect(files.contains { $0.name.hasPrefix("usherd.db") && !$0.bytes.isEmpty })
    #expect(try harness.store.loadLocalAuth().count == 1)
    for file in files {
      #expect(file.bytes.range(of: Data(right.revealed().utf8)) == nil, "\(file.name)")
      #expect(file.bytes.range(of: Data(wrong.revealed().utf8)) == nil, "\(file.name)")
    }
  }
}

@Suite("Fingerprints", .timeLimit(.minutes(10)))
struct FingerServiceTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  private var service: LocalAuthService { harness.localAuth }

  private func biometric(_ person: LocalPerson = .anna) async -> LocalAuthAvailability.Biometric {
    await service.availability(of: person).0.biometric
  }

  private func scan(_ verdict: FakeReader.Scan) async throws -> ScanOutcome? {
    async let outcome = service.scan(.anna) { _ in }
    try await harness.reader.answer(verdict)
    return await outcome
  }

  @Test("localAuth.status shows enrolled fingers or a missing reader without a scan")
  func standing() async {
    #expect(await biometric() == .notEnrolled)
    harness.reader.enrol("left-thumb", "right-index-finger")
    #expect(await biometric() == .ready(hasChanged: false))
    #expect(await service.availability(of: .anna).fingers == 2)
    harness.reader.fail(.noReader)
    #expect(await biometric() == .noReader)
    #expect(await service.availability(of: .anna).fingers == nil)
    #expect(harness.reader.users.isEmpty)
  }

  @Test(
    "a failure of the fingerprint reader makes it unavailable, with the reason",
    arguments: [
      (FingerprintError.inUse, "the fingerprint reader is in use"),
      (.unplugged, "the fingerprint reader was unplugged"),
      (.notPermitted("auth"), "usherd is not permitted to use the fingerprint reader: see polkit"),
      (.unavailable("no message bus"), "the fingerprint reader does not answer"),
    ])
  func problem(problem: FingerprintError, sentence: String) async throws {
    harness.reader.fail(problem)
    #expect(await biometric() == .unavailable(sentence))
    #expect(try await scan(.failure(problem)) == .unavailable(sentence))
  }

  @Test("a uid without a user name has no enrolled fingers, and the reader is not asked")
  func nameless() async {
    let nobody = LocalPerson(realm: "host", uid: 4_000_000)
    #expect(await biometric(nobody) == .unavailable("this user has no name"))
    #expect(await service.scan(nobody) { _ in } == .unavailable("this user has no name"))
    #expect(harness.reader.users.isEmpty)
  }

  @Test("a fingerprint scan asks for the owner's fingers for 30 s and returns the reader's result")
  func whose() async throws {
    #expect(try await scan(.success(.match)) == .matched)
    #expect(harness.reader.users == ["anna"] && harness.reader.limits == [.seconds(30)])
    #expect(try await scan(.failure(.timedOut)) == .timedOut)
    #expect(try await scan(.failure(.notEnrolled)) == .notEnrolled)
    #expect(try await scan(.failure(.noReader)) == .noReader)
  }

  @Test(
    "five wrong fingers in a row lock the reader, also after a restart; a match resets the count")
  func locks() async throws {
    for _ in 1...4 { #expect(try await scan(.success(.noMatch)) == .missed) }
    #expect(try await scan(.success(.match)) == .matched)
    for _ in 1...4 { #expect(try await scan(.success(.noMatch)) == .missed) }
    let until = harness.clock.now() + .seconds(30)
    #expect(try await scan(.success(.noMatch)) == .lockedOut(until: until))
    let another = LocalAuthService.fake(harness.dependencies, harness.store, harness.reader)
    try another.restore()
    #expect(await another.scan(.anna) { _ in } == .lockedOut(until: until))
    harness.reader.enrol("left-thumb")
    #expect(await another.availability(of: .anna).0.biometric == .lockedOut(until: until))
    #expect(harness.reader.users.count == 10, "a locked reader does not scan")
  }

  @Test("a right passcode ends the lockout of the fingerprint reader")
  func unlocked() async throws {
    #expect(try await service.setPasscode(right, old: nil, isReset: false, of: .anna) == .done)
    for _ in 1...5 { _ = try await scan(.success(.noMatch)) }
    harness.reader.enrol("left-thumb")
    #expect(await service.check(right, of: .anna) == .accepted)
    #expect(await biometric() == .ready(hasChanged: false))
  }

  @Test(
    "fingers that changed since the last match are reported, also after a restart, until a match")
  func changes() async throws {
    harness.reader.enrol("left-thumb")
    #expect(await biometric() == .ready(hasChanged: false), "there was no match before")
    #expect(try await scan(.success(.match)) == .matched)
    harness.reader.enrol("left-thumb", "right-thumb")
    #expect(await biometric() == .ready(hasChanged: true))
    let another = LocalAuthService.fake(harness.dependencies, harness.store, harness.reader)
    try another.restore()
    #expect(await another.availability(of: .anna).0.biometric == .ready(hasChanged: true))
    #expect(try await scan(.success(.noMatch)) == .missed)
    #expect(await biometric() == .ready(hasChanged: true), "a wrong finger changes nothing")
    #expect(try await scan(.success(.match)) == .matched)
    #expect(await biometric() == .ready(hasChanged: false))
  }

  @Test("a scan whose wrong finger cannot be counted on disk reports the reader as unavailable")
  func uncounted() async throws {
    async let outcome = service.scan(.anna) { _ in }
    try await reached("a scan") { harness.reader.waiting > 0 }
    try harness.store.close()
    try await harness.reader.answer(.success(.noMatch))
    guard case .unavailable = await outcome else {
      Issue.record("the verdict was reported although it could not be counted")
      return
    }
  }
}
