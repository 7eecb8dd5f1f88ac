import JSONRPC
import Testing
import UsherKit

extension BSAKitTests {
  @Suite("Duplicate and user-key checks of BSA")
  struct Checks {
    private static let duplicate = "registration.checkDuplicate"
    private static let userKey = "registration.checkUserKey"

    private func recordedEvents(
      _ method: String, _ answer: BSADaemon.Answer, _ call: @Sendable (BSACallbackRecorder) -> Void
    ) async throws -> [BSACallbackRecorder.Event] {
      // A call is repeated once after a lost connection.
      let daemon = BSADaemon(replies: [method: [answer, answer]])
      return try await daemon.run { _ in await UsherKitTests.recordedEvents(call) }
    }

    @Test("each answer to a BSA check calls its callback and then onCompleted")
    func answered() async throws {
      let calls: [(String, String, JSONValue, [String], @Sendable (BSACallbackRecorder) -> Void)] =
        [
          (
            Self.duplicate, "duplicate",
            ["provider": "bsa", "verifyType": "email", "verifyData": "user@email.com"],
            ["onDulplicateUser", "onNotDulplicateUser"], { $0.checkDuplicate("user@email.com") }
          ),
          (
            Self.duplicate, "duplicate",
            ["provider": "bsa", "verifyType": "phoneNumber", "verifyData": "+821012345678"],
            ["onDulplicateUser", "onNotDulplicateUser"],
            { $0.checkDuplicate("+821012345678", .PhoneNumber) }
          ),
          (
            Self.userKey, "available", ["provider": "bsa", "userKey": "user1"],
            ["onUserKeyAvailable", "onUserKeyNotAvailable"], { $0.checkUserKey("user1") }
          ),
        ]
      for (method, member, params, callbacks, call) in calls {
        for (callback, answer) in zip(callbacks, ["true", "false"]) {
          let daemon = BSADaemon(replies: [method: [.reply(#"{"\#(member)":\#(answer)}"#)]])
          let events = try await daemon.run { _ in await UsherKitTests.recordedEvents(call) }
          #expect(events == [.answer(callback), .completed])
          #expect(daemon.params(of: method) == [params])
        }
      }
    }

    @Test("checkDuplicateUserData also works with correctly spelled callback labels")
    func rightSpelling() async throws {
      let replies = ["true", "false"].map { BSADaemon.Answer.reply(#"{"duplicate":\#($0)}"#) }
      let daemon = BSADaemon(replies: [Self.duplicate: replies])
      try await daemon.run { _ in
        for word in ["onDuplicateUser", "onNotDuplicateUser"] {
          let events = await UsherKitTests.recordedEvents { recorder in
            BSA.APICaller.checkDuplicateUserData(
              verifyData: "user@email.com", verifyType: .Email,
              onNotDuplicateUser: recorder.answer("onNotDuplicateUser"),
              onDuplicateUser: recorder.answer("onDuplicateUser"), onFailed: recorder.failed,
              onError: recorder.error, onCompleted: recorder.completed, disposeBag: recorder.bag)
          }
          #expect(events == [.answer(word), .completed])
        }
      }
    }

    @Test(
      "a refused BSA check calls onFailed with BSA's rtCode or the nearest one",
      arguments: [
        (BSADaemon.error("provider_rejected", code: 2012), 2012),
        (BSADaemon.error("invalid_params", field: "verifyData"), 2002),
        (BSADaemon.error("rate_limited"), 10001),
      ])
    func failed(error: String, rtCode: Int) async throws {
      check(
        try await recordedEvents(Self.duplicate, .refused(error)) { $0.checkDuplicate("x@y") },
        is: [.failed(rtCode, "why not"), .completed])
      check(
        try await recordedEvents(Self.userKey, .refused(error)) { $0.checkUserKey("user1") },
        is: [.failed(rtCode, "why not"), .completed])
    }

    @Test(
      "a BSA check without a usable answer calls onError with the matching error",
      arguments: [
        (.refused(BSADaemon.error("provider_unreachable")), .unreachable(message: "why not")),
        (.refused(BSADaemon.error("provider_protocol_error")), .notUnderstood(message: "why not")),
        (.refused(BSADaemon.error("permission_denied")), .notPermitted(message: "why not")),
        (
          .refused(BSADaemon.error("not_found", field: "provider")),
          .notConfigured(message: "why not")
        ),
      ] as [(BSADaemon.Answer, BSAError)])
    func error(answer: BSADaemon.Answer, error: BSAError) async throws {
      check(
        try await recordedEvents(Self.duplicate, answer) { $0.checkDuplicate("x@y") },
        is: [.error(error), .completed])
      check(
        try await recordedEvents(Self.userKey, answer) { $0.checkUserKey("user1") },
        is: [.error(error), .completed])
    }

    @Test("a BSA check calls onError or throws if the daemon is lost or not running")
    func lost() async throws {
      let events = try await recordedEvents(Self.userKey, .lost) { $0.checkUserKey("user1") }
      guard case .error(.unreachable)? = events.first, events.count == 2 else {
        Issue.record("\(events)")
        return
      }
      BSA.configure(socketPath: "/tmp/no-such-folder/s")
      let error = await #expect(throws: BSAError.self) {
        try await BSA.APICaller.checkUserKeyAvailable(userKey: "user1")
      }
      #expect(error?.rtCode == nil && error?.message.contains("/tmp/no-such-folder/s") == true)
    }

    @Test("a BSA check calls onError for a reply without its member")
    func unreadable() async throws {
      let events = try await recordedEvents(Self.duplicate, .reply("{}")) {
        $0.checkDuplicate("x@y")
      }
      guard case .error(.notUnderstood)? = events.first, events.count == 2 else {
        Issue.record("\(events)")
        return
      }
    }

    @Test("the async BSA checks return the answer or throw BSAError.failed")
    func waiting() async throws {
      let daemon = BSADaemon(replies: [
        Self.duplicate: [.reply(#"{"duplicate":true}"#)],
        Self.userKey: [
          .reply(#"{"available":true}"#),
          .refused(BSADaemon.error("provider_rejected", code: 2012)),
        ],
      ])
      try await daemon.run { _ in
        let isDuplicate = try await BSA.APICaller.checkDuplicateUserData(
          verifyData: "x@y", verifyType: .Email)
        let isAvailable = try await BSA.APICaller.checkUserKeyAvailable(userKey: "user1")
        #expect(isDuplicate && isAvailable)
        await #expect(throws: BSAError.failed(rtCode: 2012, message: "why not")) {
          try await BSA.APICaller.checkUserKeyAvailable(userKey: "user1")
        }
      }
    }

    @Test("the log of a BSA duplicate check masks the contact")
    func log() async throws {
      let daemon = BSADaemon(replies: [
        Self.duplicate: [
          .reply(#"{"duplicate":true}"#),
          .refused(BSADaemon.error("provider_rejected", code: 2012)),
        ]
      ])
      try await daemon.run { _ in
        for end in ["was answered", "failed with rtCode 2012"] {
          let recorder = BSACallbackRecorder()
          recorder.checkDuplicate("somebody@email.com")
          _ = await recorder.all()
          #expect(
            recorder.log == """
              BSA.checkDuplicateUserData: begins
              BSA.checkDuplicateUserData: calls registration.checkDuplicate for s•••@e•••
              BSA.checkDuplicateUserData: \(end)
              """)
        }
      }
    }
  }
}
