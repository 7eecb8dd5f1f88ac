import Dispatch
import Glibc
import JSONRPC
import Synchronization
import Testing
import UsherCore
import UsherTestKit

@testable import UsherKit

/// Tests of the usage notes of the vendor's page "Verify with GoPay", with a fake daemon.
///
/// The note "Never throw from inside the handler" has no test, because the type of the handler does
/// not allow it to throw.
@Suite("GoPay usage notes", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayUsageTests {
  private let short = GoPayExchange.answering(.success(userCorrelationId: "corr-5678"))

  private func completing(_ inputs: GoPayDaemon.Answer...) -> GoPayDaemon {
    let captured = GoPayDaemon.Answer.advances([.exchanged, .capture, .submitted])
    return GoPayDaemon(
      .authCode, then: [.asking()], inputs: inputs.isEmpty ? [captured] : inputs)
  }
}

// MARK: - The request

extension GoPayUsageTests {
  @Test(
    "build() accepts a blank id, and GoPay verify reports it as GPE-2206 through onError",
    arguments: [
      FeatureRequest.Builder().userCorrelationId("corr-5678").build(),
      FeatureRequest.Builder().requestId(" \t").userCorrelationId("corr-5678").build(),
      FeatureRequest.Builder().requestId("req-1").build(),
      FeatureRequest.Builder().requestId(" ").featureId("f").userCorrelationId("c").build(),
    ])
  func blank(request: FeatureRequest) async throws {
    let daemon = GoPayDaemon(starts: [])
    let told = try await daemon.callbackEvents(short, request)
    #expect(told.map(\.error?.code) == ["GPE-2206"])
    // The daemon is not asked, so this holds without one, and while another call is in progress.
    #expect(daemon.methods.isEmpty)
  }

  @Test("without an exchange a GoPay token is required, or an account, before the daemon is asked")
  func noToken() async throws {
    let builder = FeatureRequest.Builder().requestId("req-1").userCorrelationId("corr-5678")
    for token in [nil, " "] {
      let daemon = GoPayDaemon(starts: [])
      let told = try await daemon.callbackEvents(.none, builder.token(token).build())
      #expect(told.map(\.error?.code) == ["GPE-2206"])
      #expect(told.first?.error?.message == "token is missing or blank" && daemon.methods.isEmpty)
    }
    let daemon = GoPayDaemon(.exchanged, then: [.capture, .submitted])
    let told = try await daemon.callbackEvents(.none, builder.token(nil).account("acc_1").build())
    #expect(told.map(\.error?.code) == [nil])
  }

  @Test("a GoPay requestId that was used before yields GPE-2205, and its flow is left alone")
  func usedBefore() async throws {
    let refusal = GoPayDaemon.error("request_id_reused", flow: "flw_0")
    let daemon = GoPayDaemon(starts: [.refused(refusal)])
    let error = try #require(try await daemon.callbackEvents(short).first?.error)
    #expect(error.code == "GPE-2205")
    #expect(
      error.message == "this requestId was used before: generate a fresh one for every call")
    #expect(daemon.methods == ["flow.start"])
  }

  @Test("a GoPay request with a featureId is refused with GPE-2205")
  func featureID() async throws {
    let refusal = GoPayDaemon.error("invalid_params", field: "params.featureId")
    let daemon = GoPayDaemon(starts: [.refused(refusal)])
    let request = FeatureRequest.Builder()
      .requestId("req-1").userCorrelationId("corr-5678").featureId("kyc").build()
    #expect(try await daemon.callbackEvents(short, request).map(\.error?.code) == ["GPE-2205"])
    #expect(daemon.params(of: "flow.start").first?["params"]?["featureId"] == "kyc")
  }
}

// MARK: - The credential receiver

extension GoPayUsageTests {
  @Test(
    "GoPay verify with .exchange passes code and requestId to the handler and submits its answer")
  func exchange() async throws {
    let exchange = GoPayExchange()
    let daemon = completing()
    async let told = daemon.callbackEvents(exchange.receiver)
    var calls = exchange.calls.makeAsyncIterator()
    let asked = try #require(await calls.next())
    #expect(asked.credential == .authCode(code: "code-1") && asked.requestID == "req-1")
    asked.completion(.linked(userCorrelationId: "corr-5678", token: "long"))
    #expect(try await told.map(\.submissionID) == ["sub-1"])
    let start = try #require(daemon.params(of: "flow.start").first)
    #expect(start["requestId"] == "req-1")
    #expect(start["provider"] == "gopay" && start["kind"] == "verify")
    #expect(
      start["params"] == [
        "userCorrelationId": "corr-5678", "token": "short-term-linking-token",
        "credentialReceiver": "exchange",
      ])
    #expect(
      daemon.params(of: "flow.submit").map { $0["input"] } == [
        [
          "type": "exchangeCredential",
          "success": ["userCorrelationId": "corr-5678", "token": "long"],
        ]
      ])
  }

  @Test("GoPay verify with .none starts a flow without an exchange of credentials")
  func noExchange() async throws {
    let daemon = GoPayDaemon(.exchanged, then: [.capture, .submitted])
    #expect(try await daemon.callbackEvents(.none).map(\.submissionID) == ["sub-1"])
    #expect(daemon.methods == ["flow.start"])
    let params = daemon.params(of: "flow.start").first?["params"]
    #expect(params?["credentialReceiver"] == "none")
  }

  @Test(
    "GoPay verify with .none answers an unexpected code with a failure and does not exchange it")
  func unexpectedCode() async throws {
    let daemon = completing(.advances([.failed("exchange_failed", 2208)]))
    #expect(try await daemon.callbackEvents(.none).map(\.error?.code) == ["GPE-2208"])
    let reason = "this app exchanges no credentials"
    #expect(
      daemon.params(of: "flow.submit").map { $0["input"] } == [
        ["type": "exchangeCredential", "failure": ["reason": .string(reason)]]
      ])
  }

  @Test("the GoPay exchange handler is called on a background thread")
  func background() async throws {
    let threads = Mutex<[pthread_t]>([])
    let receiver = CredentialReceiver.exchange(
      handler: CredentialExchangeHandler { _, _, completion in
        threads.withLock { $0.append(pthread_self()) }
        completion(.success(userCorrelationId: "corr-5678"))
      })
    #expect(try await completing().callbackEvents(receiver).map(\.submissionID) == ["sub-1"])
    let seen = threads.withLock { $0 }
    let main = await MainActor.run { pthread_self() }
    #expect(seen.count == 1 && seen.first != main)
  }

  @Test("many GoPay exchange handlers that block at once stop no verification")
  func blocksAtOnce() async throws {
    let count = sysconf(Int32(_SC_NPROCESSORS_ONLN)) * 2 + 2
    let all = DispatchSemaphore(value: 0)
    let (calls, called) = AsyncStream.makeStream(of: Void.self)
    let receiver = CredentialReceiver.exchange(
      handler: CredentialExchangeHandler { _, _, completion in
        called.yield()
        _ = TestDeadline().isSignalled(all)
        completion(.success(userCorrelationId: "corr-5678"))
      })
    try await withThrowingTaskGroup(of: String?.self) { group in
      for _ in 0..<count {
        group.addTask {
          let captured = GoPayDaemon.Answer.advances([.exchanged, .capture, .submitted])
          let daemon = GoPayDaemon(.authCode, then: [.asking()], inputs: [captured])
          return try await daemon.run { path in
            await goPaySDK(path).getFeatureManager()
              .outcome(goPayRequest, receiver, GoPayScreen()).id
          }
        }
      }
      var handlers = calls.makeAsyncIterator()
      for _ in 0..<count { await handlers.next() }
      for _ in 0..<count { all.signal() }
      for try await id in group { #expect(id == "sub-1") }
    }
  }

  @Test("a GoPay exchange handler that blocks does not delay the end of the verification")
  func blocks() async throws {
    let hasEnded = DispatchSemaphore(value: 0)
    let (calls, called) = AsyncStream.makeStream(of: Void.self)
    let (waits, waited) = AsyncStream.makeStream(of: Bool.self)
    let receiver = CredentialReceiver.exchange(
      handler: CredentialExchangeHandler { _, _, _ in
        called.yield()
        waited.yield(TestDeadline().isSignalled(hasEnded))
      })
    let daemon = GoPayDaemon(.authCode, then: [.asking()])
    async let told = daemon.callbackEvents(receiver)
    var handler = calls.makeAsyncIterator()
    await handler.next()
    try await daemon.happens(.failed("exchange_timed_out", 2209))
    #expect(try await told.map(\.error?.code) == ["GPE-2209"])
    hasEnded.signal()
    var results = waits.makeAsyncIterator()
    #expect(await results.next() == true)
  }

  @Test("only the first call of a GoPay exchange completion has an effect")
  func twice() async throws {
    let exchange = GoPayExchange()
    let daemon = completing(.advances([.exchanged]))
    async let told = daemon.callbackEvents(exchange.receiver)
    var calls = exchange.calls.makeAsyncIterator()
    let asked = try #require(await calls.next())
    asked.completion(.success(userCorrelationId: "corr-5678"))
    asked.completion(.failure(reason: "too late"))
    for await method in daemon.methodsHeard where method == "flow.submit" { break }
    asked.completion(.success(userCorrelationId: "corr-5678"))
    try await daemon.happens(.submitted)
    #expect(try await told.map(\.submissionID) == ["sub-1"])
    asked.completion(.failure(reason: "after the end"))
    #expect(daemon.params(of: "flow.submit").count == 1)
  }
}

// MARK: - The call

extension GoPayUsageTests {
  @Test("GoPay verify is isolated to the main actor")
  func mainThread() async throws {
    let daemon = GoPayDaemon(.submitted)
    try await daemon.run { path in
      let recorder = GoPayCallbackRecorder()
      // The `await` compiles without a warning only because `verify` is isolated to the main actor,
      // and warnings are errors.
      let verification = try await goPaySDK(path).getFeatureManager().verify(
        viewController: GoPayScreen(), request: goPayRequest, credentialReceiver: .none,
        callback: AnyFeatureCallback(wrapping: recorder))
      await verification.task.value
      #expect(recorder.heard.map(\.submissionID) == ["sub-1"])
    }
  }

  @MainActor
  @Test("GoPay verify throws GPE-2205 if the callback was released, and calls no method")
  func throwing() async throws {
    let daemon = GoPayDaemon(.submitted)
    try await daemon.run { @MainActor path in
      let callback = AnyFeatureCallback(wrapping: GoPayCallbackRecorder())
      let error = #expect(throws: FeatureError.self) {
        try goPaySDK(path).getFeatureManager().verify(
          viewController: GoPayScreen(), request: goPayRequest, credentialReceiver: .none,
          callback: callback)
      }
      #expect(error?.code == "GPE-2205")
      #expect(error?.message == "the callback was deallocated: keep a strong reference to it")
    }
    #expect(daemon.methods == [])
  }

  @MainActor
  @Test("AnyFeatureCallback holds its callback weakly, and a released callback is not called")
  func weak() async throws {
    let daemon = GoPayDaemon(.exchanged)
    try await daemon.run { @MainActor path in
      let heard = Mutex(false)
      var callback: VerifyFeatureCallback? = VerifyFeatureCallback { _ in
        heard.withLock { $0 = true }
      } onError: { _ in
        heard.withLock { $0 = true }
      }
      weak let watched = callback
      let verification = try goPaySDK(path).getFeatureManager().verify(
        viewController: GoPayScreen(), request: goPayRequest, credentialReceiver: .none,
        callback: AnyFeatureCallback(wrapping: try #require(callback)))
      var methods = daemon.methodsHeard.makeAsyncIterator()
      #expect(await methods.next() == "flow.start")
      callback = nil
      #expect(watched == nil)
      try await daemon.happens(.submitted)
      await verification.task.value
      #expect(!heard.withLock { $0 })
    }
    #expect(daemon.methods == ["flow.start"])
  }

  @Test("GoPay's onComplete gets the metadata as text data, or nil if there is none")
  func data() async throws {
    let daemon = GoPayDaemon(
      .succeeded(metadata: #"{"status":"COMPLETED","result":null,"score":7,"ok":true}"#))
    let data = ["status": "COMPLETED", "score": "7", "ok": "true"]
    let told = try await daemon.callbackEvents(.none)
    guard case .completed(let result, data)? = told.first, told.count == 1 else {
      Issue.record("\(told)")
      return
    }
    #expect(result.metadata == data && result.account == "acc_1")
    let bare = try await GoPayDaemon(.succeeded(metadata: "{}")).callbackEvents(.none)
    #expect(bare.first?.submissionID == "sub-1")
    guard case .completed(_, nil)? = bare.first else {
      Issue.record("\(bare)")
      return
    }
  }

  @Test("VerifyFeatureCallback accepts a success closure with or without the data")
  func closures() async {
    let heard = Mutex<[String]>([])
    let note = { @Sendable (text: String) in heard.withLock { $0.append(text) } }
    let full = VerifyFeatureCallback { result, data in
      note("\(result.submissionId) \(data?["status"] ?? "")")
    } onError: { error in
      note(error.code)
    }
    let plain = VerifyFeatureCallback { result in
      note(result.submissionId)
    } onError: { error in
      note(error.title)
    }
    let result = VerifyResult(submissionId: "sub-1", account: nil, metadata: [:])
    for callback in [full, plain] {
      await callback.onComplete(result, data: ["status": "SUBMITTED"])
      await callback.onError(FeatureError(KitError(.cancelled, "why")))
    }
    let expected = ["sub-1 SUBMITTED", "GPE-2207", "sub-1", "User cancelled"]
    #expect(heard.withLock { $0 } == expected)
  }
}
