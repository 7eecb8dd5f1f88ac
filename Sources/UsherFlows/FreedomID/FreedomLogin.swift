import JSONRPC
import UsherAPI
import UsherCore

/// The log-in of a user at Freedom ID: phone number and code, e-mail address and password, or phone
/// number and password; then a second factor if the user has enabled one (SDK documentation,
/// Authentication Screen Interaction).
///
/// The flow never says whether the name or the password is wrong (PSD2 RTS Art. 4(3)(a)).
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

  enum Phase: Codable, Sendable, Equatable {
    case choosing
    case form(Method)
    case password(FreedomName)
    case code(FreedomChallenge)
    /// A request to Freedom ID is in progress. If it fails, the log-in returns to the phase before
    /// it.
    case calling(PendingTask)
  }

  /// A request to Freedom ID that the log-in makes.
  enum Task: Codable, Sendable, Equatable {
    /// Requests the first code for the phone number.
    case send(FreedomName)
    /// Requests another code, which replaces the one of this challenge.
    case resend(FreedomChallenge)
    case password(FreedomName)
    case code(FreedomChallenge)
  }

  /// A task in progress. User input is held only during a pause before the next attempt, and only
  /// in memory.
  struct PendingTask: Codable, Sendable, Equatable {
    let task: Task
    var typed = Transient(nil)
    var retrying = RetryBackoff()
  }

  var stage = Phase.choosing
  /// The earliest time at which the form may request a code. It is set if Freedom ID may have sent
  /// a code in a reply that was lost. Nil otherwise, and in states stored by version 0.1.0.
  private var noCodeBefore: Timestamp?

  /// How the flow continues after an event of the log-in.
  enum Progress: InputRefusing, Equatable {
    case proceed([Effect<FreedomDeviceCall>], Problem?)
    case signedIn(SignedIn)
    /// The user goes back to the choice of an account.
    case home
    case failed(Failure)
    case refuse(field: String, message: String)
    case ignore
  }

  /// The step that the user sees.
  var step: Step {
    switch stage {
    case .choosing:
      .choose(
        .init(
          what: .loginMethod,
          options: Method.allCases.map { StepOption(id: $0.rawValue, label: $0.label) }))
    case .form(let method): .fillForm(.init(fields: [FreedomName.field(of: method)]))
    case .password: .enterPassword(.init(purpose: "login"))
    case .code(let challenge): .enterCode(challenge.step)
    case .calling(let pending): .wait(.init(for: pending.task.words))
    }
  }

  mutating func receive(
    _ event: FlowEvent<FreedomDeviceCall>, _ device: String, _ provider: ProviderName,
    at now: Timestamp
  ) -> Progress {
    switch stage {
    case .choosing: choosing(event)
    case .form(let method): form(event, method, device, now)
    case .password(let name): password(event, name, device)
    case .code(let challenge): code(event, challenge, device, now)
    case .calling(let pending): calling(event, pending, device, provider, now)
    }
  }

  /// See ``FlowMachine/unknownOutcome``.
  var unknownOutcome: String? {
    guard case .calling(let pending) = stage, pending.task.sends, !pending.retrying.isPaused else {
      return nil
    }
    return .perhapsSent("a code")
  }

  mutating func show(_ stage: Phase, _ problem: Problem? = nil) -> Progress {
    self.stage = stage
    return .proceed([], problem)
  }
}

// MARK: - The user's input

extension FreedomLogin {
  private mutating func choosing(_ event: FlowEvent<FreedomDeviceCall>) -> Progress {
    switch event {
    case .input(.choice(let id)):
      guard let method = Method(rawValue: id) else { return .notAnOption }
      return show(.form(method))
    case .input(.back): return .home
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func form(
    _ event: FlowEvent<FreedomDeviceCall>, _ method: Method, _ device: String, _ now: Timestamp
  ) -> Progress {
    switch event {
    case .input(.form(let fields)):
      let field = FreedomName.field(of: method).name
      if let refusal = Progress.refusal(of: fields, otherThan: [field]) { return refusal }
      let place = "input.fields.\(field)"
      guard let typed = fields[field] else {
        return .refuse(field: place, message: "\(place) is missing")
      }
      do throws(InvalidValue) {
        let name = try FreedomName(method, typed, from: place)
        guard method == .phoneOTP else { return show(.password(name)) }
        if let noCodeBefore, now < noCodeBefore {
          return show(.form(method), .tooEarly(noCodeBefore - now))
        }
        noCodeBefore = nil
        return call(PendingTask(task: .send(name)), nil, device)
      } catch {
        return .refuse(field: place, message: error.message)
      }
    case .input(.back): return show(.choosing)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func password(
    _ event: FlowEvent<FreedomDeviceCall>, _ name: FreedomName, _ device: String
  ) -> Progress {
    switch event {
    case .input(.password(let password)):
      guard (1...256).contains(password.revealed().count) else {
        return .refuse(
          field: "input.password", message: "input.password must have 1 to 256 characters")
      }
      return call(PendingTask(task: .password(name)), password, device)
    case .input(.back): return show(.form(name.method))
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func code(
    _ event: FlowEvent<FreedomDeviceCall>, _ challenge: FreedomChallenge, _ device: String,
    _ now: Timestamp
  ) -> Progress {
    switch event {
    case .input(.code(let code, let fields)):
      if let refusal = Progress.refusal(of: fields) { return refusal }
      if let refusal = Progress.refusal(of: code, digits: challenge.digits) { return refusal }
      guard now < challenge.expiresAt else { return show(.code(challenge), .codeExpired) }
      return call(PendingTask(task: .code(challenge)), code, device)
    case .input(.resend):
      guard now >= challenge.resendAt else {
        return show(.code(challenge), .tooEarly(challenge.resendAt - now))
      }
      return call(PendingTask(task: .resend(challenge)), nil, device)
    case .input(.back):
      return switch challenge.purpose {
      case .twoFactor: show(.choosing)
      case .otp, .sca: show(.form(challenge.name.method))
      }
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func call(_ pending: PendingTask, _ typed: Secret?, _ device: String) -> Progress
  {
    var pending = pending
    pending.typed = Transient(nil)
    pending.retrying.endPause()
    stage = .calling(pending)
    return .proceed([.call(pending.task.call(typed, device))], nil)
  }
}

// MARK: - The provider's replies

extension FreedomLogin {
  private mutating func calling(
    _ event: FlowEvent<FreedomDeviceCall>, _ pending: PendingTask, _ device: String,
    _ provider: ProviderName, _ now: Timestamp
  ) -> Progress {
    switch event {
    case .provider(.called(let call, let outcome)) where !pending.retrying.isPaused:
      guard call == pending.task.call(call.secret, device) else { return .ignore }
      let reply = FreedomIDReply(outcome, hiding: call.typed + [pending.task.name.text.unsealed()])
      return answered(reply, call.secret, pending, provider, now)
    case .woken where pending.retrying.isPaused:
      guard let typed = pending.typed.secret else {
        return pending.task.sends
          ? call(pending, nil, device) : show(pending.task.origin, .interrupted)
      }
      return call(pending, typed, device)
    case .daemon(.resumed) where pending.task.sends && !pending.retrying.isPaused:
      return perhapsSent(pending.task, nil, now)
    // The password or code that the user typed was held in memory only and is lost.
    case .daemon(.resumed): return show(pending.task.origin, .interrupted)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func answered(
    _ reply: FreedomIDReply, _ typed: Secret?, _ pending: PendingTask, _ provider: ProviderName,
    _ now: Timestamp
  ) -> Progress {
    switch reply {
    case .success(let members):
      do throws(UnusableReply) {
        return try handleSuccess(members, pending.task)
      } catch {
        return unreadable(.init(.parsingError, error.message), pending.task, provider, now)
      }
    case .refused(let refusal): return refused(refusal, pending.task, provider, now)
    case .failed(let failure): return retryLater(failure, typed, pending, provider, now)
    case .unreadable(let flaw): return unreadable(flaw, pending.task, provider, now)
    case .noToken(let message): return .failed(.unusable(message, .authError, provider))
    }
  }

  private mutating func handleSuccess(
    _ members: [String: JSONValue], _ task: Task
  ) throws(UnusableReply) -> Progress {
    switch task {
    case .send(let name): return show(.code(try FreedomChallenge(members, purpose: .otp, name)))
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
  ) -> Progress {
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
    // Freedom ID sends no other code now, but the previous code is still valid.
    case .resend(let challenge) where !refusal.isLocked:
      return show(.code(challenge), .notSentAgain(refusal, provider))
    default: return .failed(.refused(refusal, as: refusal.clientErrorCode, provider))
    }
  }

  /// Handles a reply that cannot be read. Freedom ID has performed the call, so the call is not
  /// repeated.
  private mutating func unreadable(
    _ flaw: FreedomIDFlaw, _ task: Task, _ provider: ProviderName, _ now: Timestamp
  ) -> Progress {
    switch task {
    case .resend: perhapsSent(task, flaw.errorCode.providerErrorCode(provider), now)
    case .send:
      .failed(.unusable("\(flaw.message); " + .perhapsSent("an SMS"), flaw.errorCode, provider))
    case .password, .code: .failed(.unusable(flaw, provider))
    }
  }

  /// Continues after a call that may have sent a code. Only the user can request another code,
  /// after a delay.
  private mutating func perhapsSent(
    _ task: Task, _ errorCode: ProviderErrorCode?, _ now: Timestamp
  ) -> Progress {
    let next = now + FreedomChallenge.coolDown
    if case .send = task { noCodeBefore = next }
    var problem = Problem.mayHaveBeenSent(task.message)
    problem.provider = errorCode
    guard case .resend(let challenge) = task else { return show(task.origin, problem) }
    return show(.code(challenge.reopened(at: now)), problem)
  }

  /// Handles a failed call. The call is repeated only if Freedom ID has certainly not received it.
  /// Otherwise the user repeats the input, because Freedom ID may have counted the attempt.
  private mutating func retryLater(
    _ failure: FreedomReplyError, _ typed: Secret?, _ pending: PendingTask,
    _ provider: ProviderName, _ now: Timestamp
  ) -> Progress {
    if failure.refusal?.status == 429 {
      return show(pending.task.origin, .busy(failure.retryAfter))
    }
    guard !failure.mayHaveTakenEffect else {
      return pending.task.sends
        ? perhapsSent(
          pending.task, failure.errorCode.providerErrorCode(provider, failure.refusal), now)
        : show(pending.task.origin, .unreachable(failure, provider))
    }
    var pending = pending
    guard let pause = pending.retrying.failed() else {
      if case .resend(let challenge) = pending.task {
        return show(.code(challenge), .unreachable(failure, provider))
      }
      return .failed(.unreachable(failure, provider))
    }
    pending.typed = Transient(typed)
    stage = .calling(pending)
    return .proceed([.wake(after: pause)], .unreachable(failure, provider))
  }
}
