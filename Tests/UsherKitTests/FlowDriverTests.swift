import JSONRPC
import Synchronization
import Testing
import UsherAPI
import UsherClient
import UsherCore

@testable import UsherKit

@Suite("Driver of a flow", .timeLimit(.minutes(10)))
struct FlowDriverTests {
  private struct Failed: Error {}

  /// Runs `body` with the session of a new flow.
  private func withSession<Value: Sendable>(
    _ daemon: FreedomIDDaemon, _ body: @Sendable (FlowSession) async throws -> Value
  ) async throws -> Value {
    try await daemon.run { path in
      let client = UsherClient(socketPath: path)
      return try await body(
        try await client.beginFlow(provider: "freedom", kind: "authorize", params: [:]))
    }
  }

  @Test(
    "a flow step that comes again is asked once, and its answer is submitted at the last revision")
  func sameStep() async throws {
    let daemon = FreedomIDDaemon(.home, inputs: [.advances([.authorized])])
    let questions = Mutex(0)
    let (answers, feed) = AsyncStream.makeStream(of: FlowInput.self)
    let end = try await withSession(daemon) { session in
      let driver = FlowDriver(session) { _, _ in
        questions.withLock { $0 += 1 }
        for await answer in answers { return answer }
        return nil
      }
      async let end = driver.run()
      try await daemon.happens(.home)
      _ = try await session.change(after: 1)
      feed.yield(.choice("acc_1"))
      return try await end
    }
    #expect(end.status == .succeeded)
    #expect(daemon.params(of: "flow.submit").map { $0["revision"] } == [2])
    #expect(questions.withLock { $0 } == 1)
  }

  @Test("an answer that does not advance the flow is asked for again, with the flow's problem")
  func withoutEffect() async throws {
    let daemon = FreedomIDDaemon(
      .home.with(problem: "denied"), inputs: [.advances([]), .advances([.authorized])])
    let faults = Mutex<[String?]>([])
    let end = try await withSession(daemon) { session in
      try await FlowDriver(session) { _, fault in
        let reason: String? =
          if case .withoutEffect(let problem) = fault { problem?.reason } else { nil }
        faults.withLock { $0.append(reason) }
        return .choice("acc_1")
      }.run()
    }
    #expect(end.status == .succeeded)
    #expect(faults.withLock { $0 } == [nil, "denied"])
  }

  @Test("a lost answer to a flow step is asked for again once the flow can be read")
  func slowRestart() async throws {
    let daemon = FreedomIDDaemon(.home, inputs: [.lostWithReads(3), .advances([.authorized])])
    let end = try await withSession(daemon) { session in
      try await FlowDriver(session) { _, _ in .choice("acc_1") }.run()
    }
    #expect(end.status == .succeeded)
    #expect(daemon.inputs.count == 2)
  }

  @Test("a lost answer to a flow step is asked for again if a later revision asks the same")
  func sameStepAfterLoss() async throws {
    #expect(try await losses(.home, of: .choice("acc_1")) == [false, true])
  }

  @Test("an answer with a lost reply has arrived if a code or password is wrong again")
  func wrongAgain() async throws {
    let code = FreedomIDFlowSnapshot.code().with(problem: "wrong_code")
    #expect(try await losses(code, of: .code(Secret("1"), fields: [:])) == [false, false])
    let password = FreedomIDFlowSnapshot.password.with(problem: "wrong_credentials")
    #expect(try await losses(password, of: .password(Secret("1"))) == [false, false])
  }

  /// Answers a step twice. The first answer leads to the same step and problem, and its reply is
  /// lost.
  ///
  /// - Returns: For each time that the step was shown, whether an answer was reported as lost.
  private func losses(
    _ snapshot: FreedomIDFlowSnapshot, of input: FlowInput
  ) async throws -> [Bool] {
    let daemon = FreedomIDDaemon(
      snapshot,
      inputs: [.advancesAndDisconnects([.accountCheck, snapshot]), .advances([.authorized])])
    let losses = Mutex<[Bool]>([])
    let end = try await withSession(daemon) { session in
      try await FlowDriver(session) { _, fault in
        let isLost = if case .lost? = fault { true } else { false }
        losses.withLock { $0.append(isLost) }
        return input
      }.run()
    }
    #expect(end.status == .succeeded)
    #expect(daemon.params(of: "flow.submit").map { $0["revision"] } == [1, 3])
    return losses.withLock { $0 }
  }

  @Test("a flow that cannot be read after a lost answer ends the run, and no answer is asked for")
  func unreadable() async throws {
    let daemon = FreedomIDDaemon(.home, inputs: [.lostWithReads(100)])
    let questions = Mutex(0)
    try await withSession(daemon) { session in
      let driver = FlowDriver(session, patience: .zero) { _, _ in
        questions.withLock { $0 += 1 }
        return questions.withLock { $0 } == 1 ? .choice("acc_1") : nil
      }
      await #expect(throws: ConnectionError.self) { try await driver.run() }
    }
    #expect(questions.withLock { $0 } == 1)
  }

  @Test(
    "an error of the flow's responder ends the run, and cancels the flow only if that is wanted")
  func failure() async throws {
    let daemon = FreedomIDDaemon(.home)
    try await withSession(daemon) { session in
      let driver = FlowDriver(session) { _, _ in throw Failed() }
      await #expect(throws: Failed.self) { try await driver.run() }
      #expect(daemon.methods == ["flow.start"])
      await #expect(throws: Failed.self) { try await driver.runOrCancel() }
    }
    #expect(daemon.methods == ["flow.start", "flow.cancel"])
  }

  @Test("a flow driver that awaits its responder asks no question before the last one has ended")
  func serial() async throws {
    let daemon = FreedomIDDaemon(.home, inputs: [.advances([.authorized])])
    let (asked, feed) = AsyncStream.makeStream(of: Void.self)
    let log = Mutex<[String]>([])
    try await withSession(daemon) { session in
      let driver = FlowDriver(session, awaitsResponder: true) { flow, _ in
        log.withLock { $0.append(flow.state) }
        guard flow.state == "home" else { return .granted([]) }
        feed.yield()
        await untilCancelled()
        log.withLock { $0.append("withdrawn") }
        return .choice("acc_1")
      }
      async let end = driver.run()
      for await _ in asked { break }
      try await daemon.happens(.permissions)
      #expect(try await end.status == .succeeded)
    }
    #expect(log.withLock { $0 } == ["home", "withdrawn", "permissions"])
    #expect(daemon.inputs.map { $0["type"] } == ["consent"])
  }

  @Test("a driver does not show a step if the step's task is cancelled before its turn")
  func cancelledResponder() async throws {
    let questions = Mutex(0)
    try await withSession(FreedomIDDaemon(.home)) { session in
      let driver = FlowDriver(session) { _, _ in
        questions.withLock { $0 += 1 }
        return nil
      }
      let responding = Task {
        await untilCancelled()
        return try await driver.answer(session.flow, nil)
      }
      responding.cancel()
      await #expect(throws: CancellationError.self) { try await responding.value }
    }
    #expect(questions.withLock { $0 } == 0)
  }

  @Test("beginFlow of the SDKs begins no flow in a cancelled task")
  func cancelledBefore() async throws {
    let daemon = FreedomIDDaemon(starts: [])
    try await daemon.run { path in
      let call = Task {
        await untilCancelled()
        return try await UsherClient(socketPath: path).beginFlow(
          provider: "freedom", kind: "authorize", params: [:])
      }
      call.cancel()
      await #expect(throws: CancellationError.self) { try await call.value }
    }
    #expect(daemon.methods.isEmpty)
  }
}
