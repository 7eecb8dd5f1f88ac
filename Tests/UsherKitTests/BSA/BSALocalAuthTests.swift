import Foundation
import JSONRPC
import Synchronization
import Testing

@testable import UsherKit

/// A prompt that answers as the test specifies.
final class BSAPerson: BSA.LocalAuth.Prompt {
  private struct Seen {
    var questions: [BSA.LocalAuth.Question] = []
    var ends = 0
    var over = 0
  }

  private let seen = Mutex(Seen())
  private let person: @Sendable (BSA.LocalAuth.Question) async -> BSA.LocalAuth.Answer

  init(_ person: @escaping @Sendable (BSA.LocalAuth.Question) async -> BSA.LocalAuth.Answer) {
    self.person = person
  }

  /// Gives these answers in order, then waits until it is cancelled.
  convenience init(_ answers: BSA.LocalAuth.Answer...) {
    let rest = Rest(answers)
    self.init { _ in
      if let next = rest.next() { return next }
      await untilCancelled()
      return .cancel
    }
  }

  private final class Rest: Sendable {
    private let answers: Mutex<ArraySlice<BSA.LocalAuth.Answer>>
    init(_ answers: [BSA.LocalAuth.Answer]) { self.answers = Mutex(answers[...]) }
    func next() -> BSA.LocalAuth.Answer? { answers.withLock { $0.popFirst() } }
  }

  var questions: [BSA.LocalAuth.Question] { seen.withLock { $0.questions } }
  /// The number of calls of ``finished()``.
  var ends: Int { seen.withLock { $0.ends } }
  /// The number of questions that were cancelled before they were answered.
  var over: Int { seen.withLock { $0.over } }

  func answer(_ question: BSA.LocalAuth.Question) async -> BSA.LocalAuth.Answer {
    seen.withLock { $0.questions.append(question) }
    let answer = await person(question)
    if Task.isCancelled { seen.withLock { $0.over += 1 } }
    return answer
  }

  func finished() async { seen.withLock { $0.ends += 1 } }
}

extension BSAKitTests {
  @Suite("Local authentication of BSA")
  struct LocalAuth {
    typealias ErrorCode = BSA.LocalAuthHelper.ErrorCode

    /// The callback that was called.
    private enum Outcome: Equatable {
      case success
      case error(ErrorCode?)
    }

    private func outcome(
      _ daemon: BSADaemon, _ person: BSAPerson? = nil,
      _ type: BSA.Enums.LocalAuthType = .BIOMETRIC,
      meanwhile: @Sendable () async throws -> Void = {}
    ) async throws -> Outcome? {
      try await daemon.run { path in
        BSA.configure(socketPath: path, prompt: person)
        let (outcomes, feed) = AsyncStream.makeStream(of: Outcome.self)
        BSA.LocalAuth.startSimpleAuth(
          localAuthType: type, reason: "open the till", checkDomainStateChanged: false,
          usePasscodeWhenFailed: true, onSuccess: { feed.yield(.success) },
          onError: { feed.yield(.error($0)) })
        try await meanwhile()
        var all = outcomes.makeAsyncIterator()
        return await all.next()
      }
    }

    @Test("BSA local authentication calls onSuccess for a recognised finger and needs no prompt")
    func finger() async throws {
      let daemon = BSADaemon(.looking, .scanning)
      let outcome = try await outcome(daemon) {
        var methods = daemon.methodsHeard.makeAsyncIterator()
        while let method = await methods.next(), method != "flow.start" {}
        try await daemon.happens(.scanning.with(problem: "scan_again"))
        try await daemon.happens(.authenticated)
      }
      #expect(outcome == .success)
      let start = try #require(daemon.params(of: "flow.start").first)
      #expect(start["provider"] == "local" && start["kind"] == "authenticate")
      #expect(
        start["params"] == [
          "localAuthType": "biometric", "reason": "open the till",
          "checkDomainStateChanged": false, "usePasscodeWhenFailed": true,
        ])
    }

    @Test(
      "BSA local authentication calls onError with the SDK's error code",
      arguments: ErrorCode.allCases)
    func words(word: ErrorCode) async throws {
      let reason = word == .USER_CANCEL ? "cancelled" : "local_auth_failed"
      let daemon = BSADaemon(.looking, .failed(reason, word.rawValue))
      #expect(try await outcome(daemon) == .error(word))
    }

    @Test("BSA has nine local authentication error codes, one of them with two spellings")
    func nineWords() async throws {
      #expect(ErrorCode.allCases.count == 9)
      #expect(ErrorCode.BIOMETRIC_NOT_AVAILABLE.rawValue == "BIOMETRIC_NOT_AVILABLE")
      let daemon = BSADaemon(.failed("local_auth_failed", "BIOMETRIC_NOT_AVAILABLE"))
      #expect(try await outcome(daemon) == .error(.BIOMETRIC_NOT_AVILABLE))
    }

    @Test(
      "BSA local authentication calls onError without a code for a failure unknown to the SDK",
      arguments: [
        BSAFlowSnapshot.failed("expired", nil, status: "expired"),
        .failed("local_auth_failed", "X"),
        .failed("invalid_request", nil), .otpSent,
      ])
    func noWord(snapshot: BSAFlowSnapshot) async throws {
      let daemon = BSADaemon(.looking, snapshot)
      #expect(try await outcome(daemon) == .error(nil))
      #expect(daemon.status() != "active")
    }

    @Test("BSA local authentication calls onError without a code if the daemon is lost")
    func lost() async throws {
      #expect(try await outcome(BSADaemon(starts: [.lost, .lost])) == .error(nil))
    }

    @Test("BSA local authentication asks for a passcode, and again after a wrong one")
    func passcode() async throws {
      let daemon = BSADaemon(
        .passcode,
        inputs: [
          .advances([.checking], then: [.passcode.with(problem: "wrong_passcode")]),
          .advances([.checking], then: [.authenticated]),
        ])
      let person = BSAPerson(.passcode("1357"), .passcode("2468"))
      #expect(try await outcome(daemon, person, .PASSCODE) == .success)
      #expect(
        daemon.inputs == [
          ["type": "localAuth", "passcode": "1357"], ["type": "localAuth", "passcode": "2468"],
        ])
      let question = BSA.LocalAuth.Question(
        reason: "open the till", isScanning: false, takesFinger: false, takesPasscode: true,
        problem: nil)
      #expect(person.questions.first == question)
      #expect(person.questions.map(\.problem) == [nil, "what went wrong"])
      #expect(person.ends == 1)
    }

    @Test("BSA local authentication that needs a prompt and has none warns, and is AUTH_FAILED")
    func nobodyAsks() async throws {
      let (lines, feed) = AsyncStream.makeStream(of: String.self)
      let usual = BSAService.warnings.withLock { warn in
        defer { warn = { feed.yield($0) } }
        return warn
      }
      defer { BSAService.warnings.withLock { $0 = usual } }
      let daemon = BSADaemon(.passcode)
      #expect(try await outcome(daemon, nil, .PASSCODE) == .error(.AUTH_FAILED))
      #expect(daemon.status() == "cancelled")
      var all = lines.makeAsyncIterator()
      let line = try #require(await all.next())
      #expect(
        line.hasPrefix("BSA.LocalAuth.startSimpleAuth: ") && line.contains("configure(prompt:)"))
    }

    @Test("a terminal that another process uses is not asked, which is AUTH_FAILED")
    func inBackground() async throws {
      let dialog = TypedDialog(canAsk: false)
      let daemon = BSADaemon(.passcode)
      try await daemon.run { path in
        BSA.configure(socketPath: path, prompt: TerminalPresenter(dialog))
        let error = await #expect(throws: BSA.LocalAuthHelper.Failure.self) {
          try await BSA.LocalAuth.startSimpleAuth(
            localAuthType: .PASSCODE, reason: "r", checkDomainStateChanged: false,
            usePasscodeWhenFailed: false)
        }
        #expect(error?.errorCode == .AUTH_FAILED)
      }
      #expect(dialog.shown == [])
    }

    @Test("a fingerprint scan that times out without a prompt is AUTH_FAILED, without a warning")
    func timedOut() async throws {
      let asking = BSAFlowSnapshot.localAuth(["biometric"], isScanning: false)
      let daemon = BSADaemon(asking.with(problem: "scan_timed_out"))
      try await daemon.run { _ in
        let error = await #expect(throws: BSA.LocalAuthHelper.Failure.self) {
          try await BSA.LocalAuth.startSimpleAuth(
            localAuthType: .BIOMETRIC, reason: "r", checkDomainStateChanged: false,
            usePasscodeWhenFailed: false)
        }
        #expect(error?.errorCode == .AUTH_FAILED && error?.message == "what went wrong")
      }
      #expect(daemon.status() == "cancelled")
    }

    @Test(
      "BSA local authentication has a reason that the daemon accepts, whatever the program passes",
      arguments: [
        ("open the till", "open the till"), ("", "confirm that it is you"),
        (" \n", "confirm that it is you"), ("open\nthe\u{7}till", "open the till"),
      ])
    func reasons(reason: String, shown: String) async throws {
      let daemon = BSADaemon(.authenticated)
      try await daemon.run { _ in
        try await BSA.LocalAuth.startSimpleAuth(
          localAuthType: .BIOMETRIC, reason: reason, checkDomainStateChanged: false,
          usePasscodeWhenFailed: false)
      }
      #expect(daemon.params(of: "flow.start").first?["params"]?["reason"] == .string(shown))
    }

    @Test("the callbacks of BSA local authentication run in the background")
    @MainActor
    func background() async throws {
      try await BSADaemon(.authenticated).run { _ in
        let (threads, feed) = AsyncStream.makeStream(of: Bool.self)
        BSA.LocalAuth.startSimpleAuth(
          localAuthType: .BIOMETRIC, reason: "r", checkDomainStateChanged: false,
          usePasscodeWhenFailed: false, onSuccess: { feed.yield(isMainThread()) },
          onError: { _ in feed.yield(true) })
        var all = threads.makeAsyncIterator()
        #expect(await all.next() == false)
      }
    }

    @Test("a BSA prompt can scan again, choose another way or cancel")
    func instead() async throws {
      let asking = BSAFlowSnapshot.localAuth(["biometric", "passcode"], isScanning: false)
      let daemon = BSADaemon(
        asking.with(problem: "scan_timed_out"),
        inputs: [
          .advances([.scanning]), .advances([.passcode]),
          .advances([.failed("cancelled", "USER_CANCEL", status: "cancelled")]),
        ])
      let person = BSAPerson(.scan, .fallback, .cancel)
      #expect(try await outcome(daemon, person) == .error(.USER_CANCEL))
      #expect(
        daemon.inputs == [
          ["type": "localAuth", "biometric": true], ["type": "localAuth", "fallback": true],
          ["type": "localAuth", "cancel": true],
        ])
      #expect(person.questions.map(\.isScanning) == [false, true, false])
      #expect(person.questions.map(\.takesFinger) == [true, true, false])
    }

    @Test("a BSA prompt is cancelled if the flow succeeds before it is answered")
    func over() async throws {
      let daemon = BSADaemon(.scanning)
      let (asked, feed) = AsyncStream.makeStream(of: Void.self)
      let (over, end) = AsyncStream.makeStream(of: Void.self)
      let person = BSAPerson { _ in
        feed.yield()
        await untilCancelled()
        end.yield()
        return .passcode("too late")
      }
      let outcome = try await outcome(daemon, person) {
        for await _ in asked.prefix(1) {}
        try await daemon.happens(.authenticated)
        for await _ in over.prefix(1) {}
      }
      #expect(outcome == .success && daemon.inputs == [] && person.ends == 1)
    }

    @Test(
      "the BSA prompt is asked again after a refused or lost answer, and no answer is sent twice")
    func askedAgain() async throws {
      let daemon = BSADaemon(
        .passcode,
        inputs: [
          .refused(BSADaemon.error("invalid_input", field: "input.passcode")), .lost,
          .advances([.authenticated]),
        ])
      let person = BSAPerson(.passcode(""), .passcode("2468"), .passcode("2468"))
      #expect(try await outcome(daemon, person, .PASSCODE) == .success)
      #expect(
        person.questions.map(\.problem) == [
          nil, "why not", "the connection to usherd was lost, and with it the answer",
        ])
      #expect(daemon.inputs.count == 3)
    }

    @Test("async startSimpleAuth returns on success and throws the error code on failure")
    func waiting() async throws {
      try await BSADaemon(
        starts: [
          .advances([.authenticated]), .advances([.failed("local_auth_failed", "AUTH_FAILED")]),
        ]
      ).run { _ in
        try await authenticate()
        let failure = BSA.LocalAuthHelper.Failure(
          errorCode: .AUTH_FAILED, message: "why it failed")
        await #expect(throws: failure) { try await authenticate() }
      }
    }

    @Test("async startSimpleAuth throws USER_CANCEL if its task is cancelled")
    func cancelled() async throws {
      let daemon = BSADaemon(.scanning)
      try await daemon.run { _ in
        let call = Task { try await authenticate() }
        var methods = daemon.methodsHeard.makeAsyncIterator()
        while let method = await methods.next(), method != "flow.start" {}
        call.cancel()
        let failure = await #expect(throws: BSA.LocalAuthHelper.Failure.self) {
          try await call.value
        }
        #expect(failure?.errorCode == .USER_CANCEL)
      }
      #expect(daemon.status() == "cancelled")
    }

    private func authenticate() async throws {
      try await BSA.LocalAuth.startSimpleAuth(
        localAuthType: .BIOMETRIC, reason: "open the till", checkDomainStateChanged: false,
        usePasscodeWhenFailed: false)
    }

    @Test("a BSA local authentication answer is printed and dumped without its passcode")
    func prints() {
      let answers: [BSA.LocalAuth.Answer] = [.stay, .scan, .fallback, .cancel, .passcode("2468")]
      #expect(answers.map(\.description) == ["stay", "scan", "fallback", "cancel", "passcode"])
      var dumped = ""
      dump(answers, to: &dumped)
      #expect(!dumped.contains("2468"))
    }
  }
}

private func isMainThread() -> Bool { Thread.isMainThread }
