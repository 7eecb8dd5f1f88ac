import Testing
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

private let right = Secret("till-4711")

@Suite("Memory of local authentications", .timeLimit(.minutes(10)))
struct LocalAuthMemoryTests {
  private let memory = LocalAuthMemory()
  private let now = Timestamp(seconds: 1_800_000_000)

  private func proof(_ method: LocalAuthType, _ seconds: Int = 0) -> LocalAuthProof {
    LocalAuthProof(method: method, at: now + .seconds(seconds))
  }

  @Test("the daemon remembers the last local authentication by each method per user and client")
  func apart() {
    memory.record(proof(.passcode), of: .anna, to: "till")
    memory.record(proof(.biometric, 5), of: .anna, to: "till")
    memory.record(proof(.passcode, 9), of: .anna, to: "till")
    #expect(
      memory.proofs(of: .anna, to: "till") == [proof(.biometric, 5), proof(.passcode, 9)])
    #expect(memory.proofs(of: .anna, to: "(user)").isEmpty)
    #expect(memory.proofs(of: .bert, to: "till").isEmpty)
  }

  @Test("after a clock change the newest local authentication replaces the previous one")
  func setBack() {
    memory.record(proof(.passcode, 60), of: .anna, to: "till")
    memory.record(proof(.passcode), of: .anna, to: "till")
    #expect(memory.proofs(of: .anna, to: "till") == [proof(.passcode)])
  }

  @Test("forgetting a user's local authentications keeps those of other users")
  func forgotten() {
    for client in ["till", "(user)"] {
      for method in LocalAuthType.allCases {
        memory.record(proof(method), of: .anna, to: client)
        memory.record(proof(method), of: .bert, to: client)
      }
    }
    memory.removeProofs(of: .anna)
    for client in ["till", "(user)"] {
      #expect(memory.proofs(of: .anna, to: client).isEmpty)
      #expect(memory.proofs(of: .bert, to: client).count == 2)
    }
  }

  @Test("the memory of local authentications is limited, and the oldest one is dropped")
  func bounded() {
    for number in 0...LocalAuthMemory.limit {
      memory.record(proof(.passcode, number), of: .anna, to: "client-\(number)")
    }
    #expect(memory.proofs(of: .anna, to: "client-0").isEmpty)
    #expect(memory.proofs(of: .anna, to: "client-1") == [proof(.passcode, 1)])
    #expect(memory.proofs(of: .anna, to: "client-\(LocalAuthMemory.limit)").count == 1)
  }
}

@Suite("Local authentications that LocalAuthService remembers", .timeLimit(.minutes(10)))
struct LatestLocalAuthTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  private var service: LocalAuthService { harness.localAuth }

  private func enrol() async throws {
    #expect(try await service.setPasscode(right, old: nil, isReset: true, of: .anna) == .done)
  }

  private func scan(_ verdict: FakeReader.Scan, for client: String?) async throws -> ScanOutcome? {
    async let outcome = service.scan(.anna, for: client) { _ in }
    try await harness.reader.answer(verdict)
    return await outcome
  }

  @Test(
    "a right passcode and a finger match are remembered for the client, and failed attempts are not"
  )
  func remembered() async throws {
    try await enrol()
    #expect(await service.check(Secret("wrong"), of: .anna, for: "till") != .accepted)
    #expect(try await scan(.success(.noMatch), for: "till") == .missed)
    #expect(try await scan(.failure(.timedOut), for: "till") == .timedOut)
    #expect(await service.check(right, of: .anna) == .accepted)
    #expect(service.proofs(of: .anna, to: "till").isEmpty)

    let now = harness.clock.now()
    #expect(await service.check(right, of: .anna, for: "till") == .accepted)
    harness.clock.advance(by: .seconds(3))
    #expect(try await scan(.success(.match), for: "till") == .matched)
    #expect(
      service.proofs(of: .anna, to: "till") == [
        .init(method: .biometric, at: now + .seconds(3)), .init(method: .passcode, at: now),
      ])
    #expect(service.proofs(of: .anna, to: "(user)").isEmpty)
    #expect(service.proofs(of: .bert, to: "till").isEmpty)
  }

  @Test("a cancelled fingerprint scan is not remembered as a local authentication")
  func cancelled() async throws {
    let scan = Task { await service.scan(.anna, for: "till") { _ in } }
    try await reached("a scan") { harness.reader.waiting == 1 }
    scan.cancel()
    _ = await scan.value
    #expect(service.proofs(of: .anna, to: "till").isEmpty)
  }

  @Test("a passcode lockout deletes the user's earlier local authentications")
  func locked() async throws {
    try await enrol()
    #expect(await service.check(right, of: .anna, for: "till") == .accepted)
    for _ in 1...4 {
      _ = await service.check(Secret("wrong"), of: .anna, for: "other")
      #expect(service.proofs(of: .anna, to: "till").count == 1)
    }
    _ = await service.check(Secret("wrong"), of: .anna, for: "other")
    #expect(service.proofs(of: .anna, to: "till").isEmpty)
  }

  @Test("a finger match that cannot be stored does not count and is not remembered")
  func unwritten() async throws {
    async let outcome = service.scan(.anna, for: "till") { _ in }
    try await reached("a scan") { harness.reader.waiting > 0 }
    try harness.store.close()
    try await harness.reader.answer(.success(.match))
    #expect(await outcome != .matched)
    #expect(service.proofs(of: .anna, to: "till").isEmpty)
  }

  @Test(
    "a changed or reset passcode deletes the user's local authentications; a refused change does not"
  )
  func changed() async throws {
    for isReset in [false, true] {
      try await enrol()
      _ = await service.check(right, of: .anna, for: "till")
      _ = try await scan(.success(.match), for: "till")
      #expect(service.proofs(of: .anna, to: "till").count == 2)
      let refused = try await service.setPasscode(
        Secret("till-4713"), old: Secret("wrong"), isReset: false, of: .anna)
      #expect(refused != .done)
      #expect(service.proofs(of: .anna, to: "till").count == 2)
      #expect(
        try await service.setPasscode(
          Secret("till-4713"), old: isReset ? nil : right, isReset: isReset, of: .anna) == .done)
      #expect(service.proofs(of: .anna, to: "till").isEmpty)
    }
  }

  @Test("the old passcode in a passcode change is not remembered as a local authentication")
  func oldOne() async throws {
    try await enrol()
    _ = try await service.setPasscode(right, old: right, isReset: false, of: .anna)
    for client in ["till", CallerPolicy.ownPrograms] {
      #expect(service.proofs(of: .anna, to: client).isEmpty)
    }
  }

  @Test("a restarted daemon remembers no local authentications")
  func restarted() async throws {
    try await enrol()
    _ = await service.check(right, of: .anna, for: "till")
    let another = LocalAuthService.fake(harness.dependencies, harness.store, harness.reader)
    try another.restore()
    #expect(another.proofs(of: .anna, to: "till").isEmpty)
  }
}

@Suite("Local authentications that flows can use", .timeLimit(.minutes(10)))
struct ToldLocalAuthTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  private func latest(
    _ question: LocalAuthQuestion, _ session: LiveFlow
  ) async -> [LocalAuthProof] {
    guard case .availability(let availability) = await harness.ask(question, session) else {
      return []
    }
    return availability.latest
  }

  @Test("a local authentication in a client's flow counts for that client's other flows only")
  func told() async throws {
    _ = try await harness.localAuth.setPasscode(right, old: nil, isReset: true, of: .anna)
    let first = try await harness.open(id: "flw_1", client: "till")
    let second = try await harness.open(id: "flw_2", client: "till")
    let other = try await harness.open(id: "flw_3", client: "desk")
    let ancient = try await harness.open(id: "flw_4")
    #expect(await latest(.availability, second).isEmpty)
    #expect(await harness.ask(.check(passcode: right), first) == .checked(.accepted))
    #expect(await harness.ask(.check(passcode: right), ancient) == .checked(.accepted))
    let proof = LocalAuthProof(method: .passcode, at: harness.clock.now())
    for question in [LocalAuthQuestion.availability, .passcodeAvailability] {
      #expect(await latest(question, second) == [proof])
      #expect(await latest(question, other).isEmpty)
      #expect(await latest(question, ancient).isEmpty)
    }
  }
}
