import JSONRPC
import Testing
import UsherKit
import UsherTestKit

extension BSAKitEndToEndTests {
  /// Each callback of the seed's local authentication and sign-up, by UsherKit at the real daemon.
  @Suite("BSA's callbacks: local authentication and sign-up", .mayBlock)
  struct SigningUp {
    private let scene: BSAScene
    private let prompt = BSAPrompt()
    private let alice = BSAPerson.alice

    init() throws {
      scene = try BSAScene()
      configure(prompt)
    }

    private func configure(_ prompt: BSAPrompt?, _ other: BSAScene? = nil) {
      BSA.configure(socketPath: (other ?? scene).daemon.socketPath, prompt: prompt)
    }

    /// A number that was asked for and typed by these calls.
    private func disposeToken(
      _ person: BSAPerson = .alice, _ type: BSA.APICaller.OTPSendType = .Email
    ) async throws -> String {
      _ = await heard { $0.requestNumber(person, type) }
      let number = try scene.number(to: person.contact(type.rawValue))
      let listener = BSAListener()
      listener.verifyNumber(number, person, type)
      _ = await listener.all()
      return try #require(listener.disposeToken)
    }

    private func authenticate(_ type: BSA.Enums.LocalAuthType = .PASSCODE) async throws {
      try await BSA.LocalAuth.startSimpleAuth(
        localAuthType: type, reason: "register", checkDomainStateChanged: false,
        usePasscodeWhenFailed: false)
    }

    /// The callback of a local authentication: nil for `onSuccess`.
    private func word(
      _ type: BSA.Enums.LocalAuthType = .PASSCODE
    ) async -> (isError: Bool, word: BSA.LocalAuthHelper.ErrorCode?) {
      await withCheckedContinuation { continuation in
        BSA.LocalAuth.startSimpleAuth(
          localAuthType: type, reason: "register", checkDomainStateChanged: false,
          usePasscodeWhenFailed: false,
          onSuccess: { continuation.resume(returning: (false, nil)) },
          onError: { continuation.resume(returning: (true, $0)) })
      }
    }

    // MARK: startSimpleAuth

    @Test("startSimpleAuth: onSuccess; the person was asked once, with the app's reason")
    func authenticated() async throws {
      #expect(await word().isError == false)
      #expect(prompt.questions.map(\.reason) == ["register"])
      #expect(prompt.questions.map(\.takesPasscode) == [true])
    }

    @Test("startSimpleAuth: a wrong passcode is asked for again, with the problem")
    func wrongPasscode() async throws {
      let prompt = BSAPrompt { .passcode($0.problem == nil ? "not it" : BSAScene.passcode) }
      configure(prompt)
      #expect(await word().isError == false)
      #expect(prompt.questions.last?.problem == "this is not the passcode; 4 attempts left")
    }

    @Test("startSimpleAuth: onError with the seed's word")
    func words() async throws {
      #expect(await word(.BIOMETRIC) == (true, .BIOMETRIC_NOT_AVILABLE))
      configure(BSAPrompt { _ in .cancel })
      #expect(await word() == (true, .USER_CANCEL))
      configure(BSAPrompt { _ in .fallback })
      #expect(await word() == (true, .USER_FALLBACK))
      let other = try BSAScene(passcode: nil)
      configure(BSAPrompt(), other)
      #expect(await word() == (true, .PASSCODE_NOT_ENROLLED_DEVICE))
    }

    @Test("startSimpleAuth: onError without a word for NONE, and where nobody can be asked")
    func wordless() async throws {
      #expect(await word(.NONE) == (true, nil))
      configure(nil)
      #expect(await word() == (true, nil))
    }

    // MARK: requestSignUp

    @Test(
      "requestSignUp: onSuccess, and what is saved is what account.get gives",
      arguments: ["email", "sms"])
    func signedUp(channel: String) async throws {
      let type = try #require(BSA.APICaller.OTPSendType(rawValue: channel))
      #expect(BSA.loadUserKey() == nil && BSA.loadDeviceID() == nil)
      let token = try await disposeToken(.alice, type)
      try await authenticate()
      #expect(
        await heard { $0.signUp(alice.userData(token)) } == [.answer("onSuccess"), .completed])
      let account = try #require(try scene.accounts().first)
      let attributes = try #require(account["attributes"])
      #expect(BSA.loadUserKey() == "alice.01")
      #expect(attributes["userKey"] == "alice.01")
      #expect(BSA.loadDeviceID() == attributes["deviceId"]?.stringValue)
      #expect(BSA.loadDeviceID() != nil)
      #expect(BSA.loadFCMToken() == "fcm-1" && attributes["pushToken"] == "fcm-1")
      #expect(BSA.loadLocalAuthType() == .PASSCODE)
      #expect(attributes["localAuthType"] == "PASSCODE")
    }

    @Test("another program asks for what was saved, and codes come from the daemon")
    func refreshed() async throws {
      try scene.registered(.alice, by: "email", ["pushToken": "fcm-2"])
      #expect(BSA.loadUserKey() == nil)
      let registration = try await BSA.refresh()
      #expect(registration?.userKey == "alice.01" && BSA.loadUserKey() == "alice.01")
      #expect(BSA.loadFCMToken() == "fcm-2" && BSA.loadLocalAuthType() == .PASSCODE)
      #expect(BSA.loadDeviceID() == (try scene.registration("alice.01"))?["deviceId"]?.stringValue)
    }

    @Test("requestSignUp: onFailed with 9009 before local authentication, and nothing is sent")
    func tooEarly() async throws {
      let data = alice.userData(try await disposeToken())
      #expect(await heard { $0.signUp(data) } == [.failed(9009), .completed])
      #expect(try scene.requests("users") == 0)
      // The handle is good still.
      try await authenticate()
      #expect(await heard { $0.signUp(data) } == [.answer("onSuccess"), .completed])
    }

    @Test(
      "requestSignUp: onFailed with 3002 for each agreement that is missing",
      arguments: ["agreeGccs", "agreePerson", "agreeDevice"])
    func agreements(name: String) async throws {
      var data = alice.userData(try await disposeToken())
      switch name {
      case "agreeGccs": data.agreeGccs = false
      case "agreePerson": data.agreePerson = false
      default: data.agreeDevice = false
      }
      #expect(await heard { $0.signUp(data) } == [.failed(3002), .completed])
    }

    @Test("requestSignUp: onFailed with 2000, 2002, 3000 and 3006 for what cannot be")
    func impossible() async throws {
      let good = alice.userData(try await disposeToken())
      let bends: [(Int, (inout BSA.SignUpData.UserData) -> Void)] = [
        (2000, { $0.clientKey = "s3cret:another" }), (2000, { $0.appPackage = "com.other" }),
        (2002, { $0.email = "alice" }), (2002, { $0.phoneNumber = "12" }),
        (2002, { $0.userKey = "a" }), (2002, { $0.name = "" }), (3000, { $0.authType = .NONE }),
        (3006, { $0.disposeToken = "dsp_0" }), (3006, { $0.email = "bob@example.com" }),
      ]
      for (rtCode, bend) in bends {
        var data = good
        bend(&data)
        #expect(await heard { $0.signUp(data) } == [.failed(rtCode), .completed])
      }
      #expect(try scene.requests("users") == 0)
    }

    @Test("requestSignUp: onFailed with 2009 and 2019 for what was taken meanwhile")
    func taken() async throws {
      let data = alice.userData(try await disposeToken())
      try await authenticate()
      try scene.registerElsewhere(["userKey": "alice.01"])
      #expect(await heard { $0.signUp(data) } == [.failed(2009), .completed])
      try scene.sandbox.control("DELETE", "bsa/registrations/alice.01")
      try scene.registerElsewhere(["phoneNum": .string(alice.phoneNumber)])
      #expect(await heard { $0.signUp(data) } == [.failed(2019), .completed])
      #expect(BSA.loadUserKey() == nil)
    }

    @Test("requestSignUp: onFailed with BSA's code; with 3006 for a handle that is used up")
    func refused() async throws {
      let data = alice.userData(try await disposeToken())
      try await authenticate()
      try scene.answers("users", ["rtCode": 4711])
      #expect(await heard { $0.signUp(data) } == [.failed(4711), .completed])
      #expect(await heard { $0.signUp(data) } == [.answer("onSuccess"), .completed])
      #expect(await heard { $0.signUp(data) } == [.failed(3006), .completed])
    }

    @Test("requestSignUp: onError where the answer is lost: the person may be registered")
    func lost() async throws {
      let data = alice.userData(try await disposeToken())
      try await authenticate()
      try scene.spoil("users", ["reset": true, "processed": true], times: 1)
      let listener = BSAListener()
      listener.signUp(data)
      let news = await listener.all()
      guard case .error(.unreachable(let message))? = news.first, news.last == .completed else {
        Issue.record("\(news)")
        return
      }
      #expect(message.contains("may be registered"))
      #expect(try scene.registration("alice.01") != nil)
      #expect(!listener.log.contains { $0.contains(data.disposeToken) || $0.contains("alice@") })
    }

    @Test("requestSignUp: onSuccess for an answer without a secret, and there are no codes")
    func withoutSecret() async throws {
      let data = alice.userData(try await disposeToken())
      try await authenticate()
      try scene.answers("users", ["data": ["secretKey": .null]])
      let listener = BSAListener()
      listener.signUp(data)
      #expect(await listener.all() == [.answer("onSuccess"), .completed])
      #expect(listener.log.contains { $0.contains("are no one-time codes") })
      #expect(BSA.loadUserKey() == "alice.01")
      await #expect(throws: BSAError.self) { try await BSA.totpCode() }
      #expect(try scene.app.call("totp.list")["accounts"] == [])
    }
  }
}
