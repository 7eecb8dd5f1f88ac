import JSONRPC
import UsherAPI
import UsherCore

/// The authentication screen: by phone and code, e-mail and password, or phone and password, with a
/// second factor where the person has switched it on (seed, Authentication Screen Interaction).
///
/// Whether name or password is wrong is never told (PSD2 RTS Art. 4(3)(a)).
struct FreedomLogin: Codable, Sendable, Equatable {
  enum Method: String, Codable, CaseIterable, Sendable {
    case phoneOTP, emailPassword, phonePassword

    var label: String {
      switch self {
      case .phoneOTP: "Phone number and a code by SMS"
      case .emailPassword: "E-mail address and password"
      case .phonePassword: "Phone number and password"
      }
    }
  }

  enum Stage: Codable, Sendable, Equatable {
    case choosing
    case form(Method)
    case password(FreedomName)
    case code(FreedomChallenge)
    /// A call is under way; where it leads back to is the stage it came from.
    case calling(Errand)
  }

  /// What is asked of the provider for the person.
  enum Task: Codable, Sendable, Equatable {
    /// A code to be sent.
    case send(FreedomName)
    /// Another one.
    case resend(FreedomChallenge)
    case password(FreedomName)
    case code(FreedomChallenge)
  }

  /// A task under way. What was typed is held only between two tries, and only in memory.
  struct Errand: Codable, Sendable, Equatable {
    let task: Task
    var typed = Fleeting(nil)
    var retrying = Retrying()
  }

  var stage = Stage.choosing

  /// What an event comes to.
  enum Course: Equatable {
    case proceed([Effect<FreedomDeviceCall>], Problem?)
    case signedIn(SignedIn)
    /// Back to the accounts there are.
    case home
    case failed(Failure)
    case refuse(field: String, message: String)
    case ignore
  }

  /// - Parameter hasHome: Whether there are accounts to go back to.
  func step(hasHome: Bool) -> Step {
    switch stage {
    case .choosing:
      .choose(
        .init(
          what: .loginMethod,
          options: Method.allCases.map { Option(id: $0.rawValue, label: $0.label) }))
    case .form(let method): .fillForm(.init(fields: [FreedomName.field(of: method)]))
    case .password: .enterPassword(.init(purpose: "login"))
    case .code(let challenge): .enterCode(challenge.step)
    case .calling(let errand): .wait(.init(for: errand.task.words))
    }
  }

  mutating func receive(
    _ event: FlowEvent<FreedomDeviceCall>, _ device: String, _ provider: ProviderName,
    at now: Timestamp
  ) -> Course {
    switch stage {
    case .choosing: choosing(event)
    case .form(let method): form(event, method, device)
    case .password(let name): password(event, name, device)
    case .code(let challenge): code(event, challenge, device, now)
    case .calling(let errand): calling(event, errand, device, provider, now)
    }
  }

  mutating func show(_ stage: Stage, _ problem: Problem? = nil) -> Course {
    self.stage = stage
    return .proceed([], problem)
  }
}

// MARK: - What the person says

extension FreedomLogin {
  private mutating func choosing(_ event: FlowEvent<FreedomDeviceCall>) -> Course {
    switch event {
    case .input(.choice(let id)):
      guard let method = Method(rawValue: id) else {
        return .refuse(field: "input.id", message: "input.id is not one of the options")
      }
      return show(.form(method))
    case .input(.back): return .home
    case .input, .redirected, .listening, .listenFailed, .called, .discovered, .idTokenVerified,
      .calledBack, .told, .woken, .resumed:
      return .ignore
    }
  }

  private mutating func form(
    _ event: FlowEvent<FreedomDeviceCall>, _ method: Method, _ device: String
  ) -> Course {
    switch event {
    case .input(.form(let fields)):
      do throws(UnfitForm) {
        let name = try FreedomName(method, fields)
        guard method == .phoneOTP else { return show(.password(name)) }
        return call(Errand(task: .send(name)), nil, device)
      } catch {
        return .refuse(field: error.field, message: error.message)
      }
    case .input(.back): return show(.choosing)
    case .input, .redirected, .listening, .listenFailed, .called, .discovered, .idTokenVerified,
      .calledBack, .told, .woken, .resumed:
      return .ignore
    }
  }

  private mutating func password(
    _ event: FlowEvent<FreedomDeviceCall>, _ name: FreedomName, _ device: String
  ) -> Course {
    switch event {
    case .input(.password(let password)):
      guard (1...256).contains(password.revealed().count) else {
        return .refuse(
          field: "input.password", message: "input.password must have 1 to 256 characters")
      }
      return call(Errand(task: .password(name)), password, device)
    case .input(.back): return show(.form(name.method))
    case .input, .redirected, .listening, .listenFailed, .called, .discovered, .idTokenVerified,
      .calledBack, .told, .woken, .resumed:
      return .ignore
    }
  }

  private mutating func code(
    _ event: FlowEvent<FreedomDeviceCall>, _ challenge: FreedomChallenge, _ device: String,
    _ now: Timestamp
  ) -> Course {
    switch event {
    case .input(.code(let code, let fields)):
      if let name = fields.keys.min() {
        return .refuse(
          field: "input.fields.\(name)", message: "this is not a field of the step")
      }
      let text = code.revealed().utf8
      guard text.count == challenge.digits, text.allSatisfy(\.isDigit) else {
        return .refuse(
          field: "input.code", message: "input.code must be \(challenge.digits) digits 0 to 9")
      }
      guard now < challenge.expiresAt else { return show(.code(challenge), .codeExpired) }
      return call(Errand(task: .code(challenge)), code, device)
    case .input(.resend):
      guard now >= challenge.resendAt else {
        return show(.code(challenge), .tooEarly(challenge.resendAt - now))
      }
      return call(Errand(task: .resend(challenge)), nil, device)
    case .input(.back):
      return switch challenge.purpose {
      case .twoFactor: show(.choosing)
      case .otp, .sca: show(.form(challenge.name.method))
      }
    case .input, .redirected, .listening, .listenFailed, .called, .discovered, .idTokenVerified,
      .calledBack, .told, .woken, .resumed:
      return .ignore
    }
  }

  private mutating func call(_ errand: Errand, _ typed: Secret?, _ device: String) -> Course {
    var errand = errand
    errand.typed = Fleeting(nil)
    errand.retrying.goOn()
    stage = .calling(errand)
    return .proceed([.call(errand.task.call(typed, device))], nil)
  }
}

// MARK: - What the provider says

extension FreedomLogin {
  private mutating func calling(
    _ event: FlowEvent<FreedomDeviceCall>, _ errand: Errand, _ device: String,
    _ provider: ProviderName, _ now: Timestamp
  ) -> Course {
    switch event {
    case .called(let call, let outcome) where !errand.retrying.isPaused:
      guard call == errand.task.call(call.secret, device) else { return .ignore }
      let reply = FreedomIDReply(outcome, hiding: call.typed + [errand.task.name.login.text])
      return answered(reply, call.secret, errand, provider, now)
    case .woken where errand.retrying.isPaused:
      guard let typed = errand.typed.secret else {
        return errand.task.isTyped
          ? show(errand.task.origin, .interrupted) : call(errand, nil, device)
      }
      return call(errand, typed, device)
    // What was typed is gone, and a code that was asked for may have been sent.
    case .resumed: return show(errand.task.origin, .interrupted)
    case .input, .redirected, .listening, .listenFailed, .called, .discovered, .idTokenVerified,
      .calledBack, .told, .woken:
      return .ignore
    }
  }

  private mutating func answered(
    _ reply: FreedomIDReply, _ typed: Secret?, _ errand: Errand, _ provider: ProviderName,
    _ now: Timestamp
  ) -> Course {
    switch reply {
    case .said(let members):
      do throws(UnusableReply) {
        return try said(members, errand.task)
      } catch {
        return .failed(.unusable(error.message, .parsingError, provider))
      }
    case .refused(let refusal): return refused(refusal, errand.task, provider, now)
    case .trouble(let trouble): return later(trouble, typed, errand, provider)
    case .unreadable(let word, let message): return .failed(.unusable(message, word, provider))
    case .noToken(let message): return .failed(.unusable(message, .authError, provider))
    }
  }

  private mutating func said(
    _ members: [String: JSONValue], _ task: Task
  ) throws(UnusableReply) -> Course {
    switch task {
    case .send(let name):
      return show(.code(try FreedomChallenge(members, purpose: .otp, name)))
    case .resend(let old):
      return show(.code(try FreedomChallenge(members, purpose: old.purpose, old.name)))
    case .password, .code:
      guard let second = members["two_factor"]?.objectValue else {
        return .signedIn(try SignedIn(members))
      }
      return show(.code(try FreedomChallenge(second, purpose: .twoFactor, task.name)))
    }
  }

  private mutating func refused(
    _ refusal: FreedomIDRefusal, _ task: Task, _ provider: ProviderName, _ now: Timestamp
  ) -> Course {
    switch task {
    case _ where refusal.saysWrongCredentials:
      return show(task.origin, .wrongCredentials(refusal, provider))
    case .code(var challenge) where refusal.saysWrongCode:
      challenge.attemptsLeft = refusal.attemptsLeft ?? challenge.attemptsLeft
      return show(.code(challenge), .wrongCode(challenge, refusal, provider))
    case .code(let challenge) where refusal.saysCodeExpired,
      .resend(let challenge) where refusal.saysCodeExpired:
      return show(.code(challenge.over(at: now)), .codeExpired)
    case _ where refusal.saysTooEarly: return show(task.origin, .tooEarly(refusal.retryAfter))
    default: return .failed(.refused(refusal, provider))
    }
  }

  /// What the provider has certainly not seen is sent again; a code or password that it may have
  /// counted is the person's to repeat.
  private mutating func later(
    _ trouble: FreedomIDTrouble, _ typed: Secret?, _ errand: Errand, _ provider: ProviderName
  ) -> Course {
    if case .server(let refusal) = trouble, refusal.status == 429 {
      return show(errand.task.origin, .busy(refusal.retryAfter))
    }
    guard !trouble.mayBeDone else {
      return show(errand.task.origin, .unreachable(trouble, provider))
    }
    var errand = errand
    guard let pause = errand.retrying.failed() else {
      return .failed(.unreachable(trouble, provider))
    }
    errand.typed = Fleeting(typed)
    stage = .calling(errand)
    return .proceed([.wake(after: pause)], .unreachable(trouble, provider))
  }
}

extension FreedomLogin.Task {
  func call(_ typed: Secret?, _ device: String) -> FreedomDeviceCall {
    let typed = typed ?? Secret("")
    return switch self {
    case .send(let name): .otp(phone: name.login.text, device: device)
    case .resend(let challenge): .resend(challenge: challenge.id, device: device)
    case .password(let name): .password(name.login, password: typed, device: device)
    case .code(let challenge):
      switch challenge.purpose {
      case .twoFactor: .twoFactor(challenge: challenge.id, code: typed, device: device)
      case .otp, .sca: .otpCheck(challenge: challenge.id, code: typed, device: device)
      }
    }
  }

  /// Where the person stood.
  var origin: FreedomLogin.Stage {
    switch self {
    case .send(let name): .form(name.method)
    case .password(let name): .password(name)
    case .resend(let challenge), .code(let challenge): .code(challenge)
    }
  }

  /// Whether something was typed that is not kept.
  var isTyped: Bool {
    switch self {
    case .send, .resend: false
    case .password, .code: true
    }
  }

  /// Who is being signed in.
  var name: FreedomName {
    switch self {
    case .send(let name), .password(let name): name
    case .resend(let challenge), .code(let challenge): challenge.name
    }
  }

  var words: String {
    switch self {
    case .send, .resend: "the code to be sent"
    case .password: "the password's check"
    case .code: "the code's check"
    }
  }
}

extension FreedomDeviceCall {
  /// What it carries of the kind that is never kept.
  fileprivate var secret: Secret? {
    switch self {
    case .password(_, let password, device: _): password
    case .otpCheck(challenge: _, let code, device: _),
      .twoFactor(challenge: _, let code, device: _):
      code
    case .accounts, .otp, .resend, .consent, .renewal, .untying: nil
    }
  }
}
