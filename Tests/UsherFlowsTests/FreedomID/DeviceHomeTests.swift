import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DeviceDriven

@Suite("Storing of a Freedom ID account after the sign-in")
struct DeviceKeptTests {
  /// Returns a flow that has signed in and is about to store the account.
  private func signedIn(_ login: JSONValue = Driven.login()) throws -> Driven {
    var driven = try Driven.checking()
    driven.answered(login)
    return driven
  }

  @Test("a Freedom ID sign-in stores the account at once, with its device tokens")
  func keeps() throws {
    let driven = try signedIn()
    let grant = try #require(driven.kept)
    #expect(grant.subject == Driven.subject)
    #expect(grant.label == "+7 ••• 67")
    #expect(grant.attributes == ["mode": "device"])
    #expect(grant.profile == nil)
    #expect(grant.isByConsent)
    #expect(grant.tokensAreInternal)
    #expect(!grant.keepAlive)
    #expect(grant.consents == [])
    #expect(
      grant.tokens
        == TokenSet(
          accessToken: Sealed(Secret("access-secret")), tokenType: "Bearer",
          expiresAt: now + .seconds(3600), scope: "device",
          refreshToken: Sealed(Secret("refresh-secret")),
          refreshExpiresAt: now + .seconds(31 * 86_400)))
    #expect(driven.state == "authentication")
    #expect(driven.step == .wait(.init(for: "the account to be stored")))
    #expect(driven.problem == nil)
  }

  @Test("a sign-in to a named Freedom ID account continues even if the account gets a new id")
  func namedAnew() throws {
    var driven = try Driven.choosing(accounts: [], account: Driven.aigerim)
    driven.signIn()
    driven.receive(.answered(.stored(AccountID("acc_another"))))
    #expect(driven.state == "home" && driven.flow.view.step.kind == .wait)
  }

  @Test("the label of a stored Freedom ID account is masked, whatever the provider sends")
  func labels() throws {
    let labels: [(JSONValue?, String)] = [
      ("+7 ••• 67", "+7 ••• 67"), ("+77011234567", "+•••••••••67"), ("12345", "•••45"),
      ("1234", "1234"), ("+7 701 123-45-67", "+• ••• •••-••-67"),
      ("aigerim@example.kz", "a•••@•••"), ("@x", "@•••@•••"), ("Aigerim", "A•••"),
      ("Aigerim Bekova", "A••• B•••"), ("A••• B.", "A••• B."), ("김철수", "김•••"),
      ("\u{1B}[2JA", "[•••"), ("", "Freedom ID 11111111"), (nil, "Freedom ID 11111111"),
      (7, "Freedom ID 11111111"),
    ]
    for (label, shown) in labels {
      var account: [String: JSONValue] = ["id": .string(Driven.subject)]
      account["label"] = label
      let driven = try signedIn(Driven.login(Driven.aigerim, ["account": .object(account)]))
      #expect(driven.kept?.label == shown)
    }
  }

  @Test("the Freedom ID device flow offers the new account for choice after the sign-in")
  func home() throws {
    var driven = try signedIn()
    #expect(driven.receive(.answered(.stored(AccountID("acc_9")))) == .proceed([]))
    #expect(driven.state == "home")
    guard case .choose(let choice) = driven.step else { return #expect(Bool(false)) }
    #expect(choice.what == .account)
    #expect(
      choice.options == [
        StepOption(id: "acc_9", label: "+7 ••• 67"),
        StepOption(id: "other", label: "Another account"),
      ])
  }

  @Test("a new Freedom ID account joins the offered accounts and is listed once")
  func beside() throws {
    for (account, options) in [
      (
        NamedAccount(id: AccountID("acc_9"), subject: "9", label: "nine"),
        ["acc_1", "acc_2", "acc_9", "other"]
      ),
      (Driven.aigerim, ["acc_2", "acc_1", "other"]),
    ] {
      var driven = try Driven.home()
      driven.say(.choice("other"))
      driven.signIn(as: account)
      driven.receive(.answered(.stored(account.id)))
      guard case .choose(let choice) = driven.step else { return #expect(Bool(false)) }
      #expect(choice.options.map(\.id) == options)
    }
  }

  @Test("a restored Freedom ID device flow stores the signed-in account again")
  func restart() throws {
    var driven = try signedIn()
    let answer = driven.last
    try driven.restart()
    #expect(driven.last == answer)
    driven.receive(.answered(.stored(Driven.aigerim.id)))
    #expect(driven.state == "home")
  }

  @Test("the Freedom ID device flow unlinks the device if a sign-in succeeds after the flow's end")
  func late() {
    let call = FreedomDeviceCall.otpCheck(
      challenge: "ch-1", code: Driven.code, device: installation)
    func cleanUp(_ json: JSONValue, status: Int = 200) -> [FreedomDeviceCall] {
      FreedomDeviceAuthorize.cleanUp(call, .reply(reply(json, status: status)))
    }
    #expect(cleanUp(Driven.login()) == [.untying(Secret("refresh-secret"), device: installation)])
    #expect(
      cleanUp(Driven.login(Driven.aigerim, ["refresh_token": nil]))
        == [.untying(Secret("access-secret"), device: installation)])
    #expect(cleanUp(Driven.login(), status: 500) == [])
    #expect(cleanUp(Driven.twoFactor) == [])
    #expect(cleanUp(Driven.profile()) == [])
    #expect(cleanUp(Driven.list([Driven.aigerim])) == [])
    #expect(FreedomDeviceAuthorize.cleanUp(call, Driven.lost) == [])
    #expect(Driven.hasNothingToAbandon)
  }
}

@Suite("Choice of an account and local authentication at Freedom ID")
struct DeviceHomeTests {
  @Test("the Freedom ID device flow asks for a fingerprint after the choice of an account")
  func choose() throws {
    var driven = try Driven.home()
    driven.say(.choice("acc_2"))
    #expect(driven.last == .proceed([.ask(.localAuth(.availability))]))
    #expect(driven.state == "home")
    driven.answer(.availability(.init(biometric: .ready(hasChanged: true), passcode: .ready)))
    #expect(driven.last == .proceed([.ask(.localAuth(.scan))]))
    #expect(
      driven.step
        == .localAuth(
          .init(
            methods: [.biometric, .passcode], reason: "Freedom ID: use of +7 ••• 99",
            scanning: true)))
    driven.answer(.scanned(.matched))
    #expect(driven.last == .proceed([.ask(.consents(of: AccountID("acc_2")))]))
    #expect(driven.state == "home")
    #expect(driven.step == .wait(.init(for: "the earlier grants")))
  }

  @Test("the Freedom ID device flow asks for the passcode and says why it takes no fingerprint")
  func passcode() throws {
    let cases: [(LocalAuthAvailability.Biometric, String)] = [
      (.noReader, "BIOMETRIC_NOT_SUPPORT_HARDWARE"),
      (.notEnrolled, "BIOMETRIC_NOT_ENROLLED_DEVICE"),
      (.unavailable("no message bus"), "BIOMETRIC_NOT_AVILABLE"),
    ]
    for (biometric, code) in cases {
      var driven = try Driven.proving()
      driven.answer(.availability(.init(biometric: biometric, passcode: .ready)))
      guard case .localAuth(let step) = driven.step else { return #expect(Bool(false)) }
      #expect(step.methods == [.passcode])
      #expect(!step.scanning)
      #expect(driven.problem?.reason == "biometric_failed")
      #expect(driven.problem?.provider?.code == code)
      driven.say(.passcode(Secret("")))
      #expect(driven.refusedField == "input.passcode")
      driven.say(.passcode(Secret("1234-passcode")))
      #expect(
        driven.last
          == .proceed([
            .ask(.localAuth(.check(passcode: Secret("1234-passcode"), insteadOf: .biometric)))
          ]))
      #expect(try !stored(driven.flow).contains("1234-passcode"))
      driven.answer(.checked(.accepted))
      #expect(driven.last == .proceed([.ask(.consents(of: AccountID("acc_1")))]))
      #expect(driven.problem == nil)
    }
  }

  @Test(
    "the Freedom ID device flow refuses the choice of an account that is not offered",
    arguments: ["acc_3", "", "phoneOTP", "Other"])
  func unknown(id: String) throws {
    var driven = try Driven.home([Driven.aigerim])
    let before = driven.flow
    for text in [id, "acc_2"] {
      driven.say(.choice(text))
      #expect(driven.refusedField == "input.id")
    }
    driven.say(.back(.choose))
    #expect(
      driven.last == .refuse(field: "input.back", message: "there is no previous step"))
    #expect(driven.flow == before)
  }

  @Test("choosing another account in the Freedom ID device flow leads to the sign-in")
  func other() throws {
    var driven = try Driven.home()
    driven.say(.choice("other"))
    #expect(driven.flow.view == (try Driven.choosing()).flow.view)
  }

  @Test("cancelling the local authentication of Freedom ID leads back to the choice of an account")
  func cancel() throws {
    for isScanning in [true, false] {
      var driven = try Driven.proving()
      driven.answer(
        .availability(
          .init(
            biometric: isScanning ? .ready(hasChanged: false) : .noReader, passcode: .ready)))
      driven.say(.cancelLocalAuth)
      #expect(driven.last == .proceed([]))
      #expect(driven.state == "home")
      #expect(driven.step == (try Driven.home()).step)
      #expect(
        driven.problem
          == Problem(
            reason: "local_auth_cancelled", title: "Not authenticated",
            message: "the account was not opened: choose one to try again"))
      driven.say(.choice("acc_1"))
      #expect(driven.problem == nil)
      driven.prove()
      #expect(driven.last == .proceed([.ask(.consents(of: AccountID("acc_1")))]))
    }
  }

  @Test("going back from Freedom ID's local authentication shows no problem and ignores a verdict")
  func back() throws {
    var driven = try Driven.proving()
    driven.answer(.availability(.init(biometric: .noReader, passcode: .ready)))
    driven.say(.back(.localAuth))
    #expect(driven.last == .proceed([]))
    #expect(driven.flow.view == (try Driven.home()).flow.view)
    driven.answer(.checked(.accepted))
    #expect(driven.last == .ignore, "the flow ignores a late verdict")
  }

  @Test("a failed local authentication ends the Freedom ID device flow with its error code")
  func failed() throws {
    let ready = LocalAuthAvailability(biometric: .ready(hasChanged: false), passcode: .ready)
    let fingerOnly = LocalAuthAvailability(
      biometric: .ready(hasChanged: false), passcode: .notEnrolled)
    let passcode = LocalAuthAvailability(biometric: .noReader, passcode: .ready)
    let none = LocalAuthAvailability(biometric: .noReader, passcode: .notEnrolled)
    let cases: [(LocalAuthAvailability, [Driven.Event], String, String)] = [
      (none, [], "configurationError", "PASSCODE_NOT_ENROLLED_DEVICE"),
      (
        fingerOnly, [.input(.fallback)], "configurationError", "PASSCODE_NOT_ENROLLED_DEVICE"
      ),
      (
        passcode,
        [
          .input(.passcode(Secret("1234"))),
          .answered(.localAuth(.checked(.notEnrolled))),
        ], "configurationError", "PASSCODE_NOT_ENROLLED_DEVICE"
      ),
      (ready, [.input(.fallback), .input(.fallback)], "authError", "USER_FALLBACK"),
    ]
    for (standing, events, code, word) in cases {
      var driven = try Driven.proving()
      driven.answer(.availability(standing))
      for event in events { driven.receive(event) }
      let failure = try #require(driven.failure, "\(driven.last)")
      #expect(failure.reason == .localAuthFailed)
      #expect(failure.title == "Not authenticated")
      #expect(!failure.message.isEmpty)
      #expect(failure.retryable)
      #expect(
        failure.provider == ProviderErrorCode(name: Driven.name, code: code, error: word))
    }
  }

  @Test("three unknown fingers lead the Freedom ID device flow to the passcode, not to a failure")
  func missed() throws {
    var driven = try Driven.proving()
    driven.answer(.availability(.init(biometric: .ready(hasChanged: false), passcode: .ready)))
    for _ in 0..<3 { driven.answer(.scanned(.missed)) }
    guard case .localAuth(let step) = driven.step else { return #expect(Bool(false)) }
    #expect(step.methods == [.passcode])
    #expect(driven.problem?.provider?.code == "AUTH_FAILED")
  }

  @Test("a restored Freedom ID device flow keeps the choice and repeats the local authentication")
  func restart() throws {
    var home = try Driven.home()
    let view = home.flow.view
    try home.restart()
    #expect(home.last == .ignore)
    #expect(home.flow.view == view)

    var driven = try Driven.proving()
    try driven.restart()
    #expect(driven.last == .proceed([.ask(.localAuth(.availability))]))
    driven.answer(.availability(.init(biometric: .ready(hasChanged: false), passcode: .ready)))
    try driven.restart()
    #expect(driven.last == .proceed([.ask(.localAuth(.availability))]))
    #expect(driven.problem == .interrupted)
    driven.prove()
    #expect(driven.last == .proceed([.ask(.consents(of: AccountID("acc_1")))]))
    let asking = driven.last
    try driven.restart()
    #expect(driven.last == asking)
  }
}

@Suite("Named accounts in the Freedom ID device flow")
struct DeviceNamedTests {
  @Test("a named Freedom ID account that is linked is used without a choice step")
  func tied() throws {
    let driven = try Driven.home(account: Driven.bolat)
    #expect(driven.last == .proceed([.ask(.localAuth(.availability))]))
    #expect(driven.state == "home")
  }

  @Test("a named Freedom ID account is the only choice after going back or cancelling")
  func noChoice() throws {
    for input in [FlowInput.back(.localAuth), .cancelLocalAuth] {
      var driven = try Driven.home(account: Driven.bolat)
      driven.answer(.availability(.init(biometric: .noReader, passcode: .ready)))
      driven.say(input)
      #expect(driven.state == "home")
      guard case .choose(let choice) = driven.step else { return #expect(Bool(false)) }
      #expect(choice.options.map(\.id) == ["acc_2"])
      for id in ["acc_1", "other"] {
        driven.say(.choice(id))
        #expect(driven.refusedField == "input.id")
      }
      driven.say(.choice("acc_2"))
      #expect(driven.last == .proceed([.ask(.localAuth(.availability))]))
    }
  }

  /// Returns a flow whose named account is no longer linked, so that it asks for a sign-in.
  private func untied() throws -> Driven {
    var driven = try Driven(
      accounts: [Driven.aigerim, Driven.bolat], account: Driven.aigerim)
    driven.answered(Driven.list([Driven.bolat]))
    return driven
  }

  @Test(
    "a named Freedom ID account that is no longer linked must sign in although others are linked")
  func notTied() throws {
    var driven = try untied()
    #expect(driven.last == .proceed([]))
    #expect(driven.state == "authentication")
    driven.say(.back(.choose))
    #expect(driven.refusedField == "input.back")
    driven.signIn()
    #expect(driven.kept?.subject == Driven.subject)
    driven.receive(.answered(.stored(Driven.aigerim.id)))
    #expect(driven.last == .proceed([.ask(.localAuth(.availability))]))
  }

  @Test("a sign-in of another subject than the named Freedom ID account's fails and is unlinked")
  func otherPerson() throws {
    var driven = try untied()
    driven.signIn(as: Driven.bolat)
    #expect(driven.failure?.reason == .providerRejected)
    #expect(
      driven.failure?.message == "the user who signed in is not the user of the named account")
    #expect(
      driven.failure?.provider == ProviderErrorCode(name: Driven.name, code: "authError"))
    #expect(driven.cleared == [.untying(Secret("refresh-secret"), device: installation)])
  }
}

extension DeviceDriven {
  /// Whether a flow has nothing to undo after the sign-in, since the account is stored.
  fileprivate static var hasNothingToAbandon: Bool {
    guard var driven = try? checking() else { return false }
    driven.answered(login())
    return driven.flow.callsIfAbandoned.isEmpty && !driven.flow.isOutcomeUnknown
  }
}
