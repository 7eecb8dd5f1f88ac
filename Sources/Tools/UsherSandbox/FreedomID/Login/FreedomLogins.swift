import Crypto
import FoundationEssentials

/// Log-ins in progress, on devices and on pages, as one value.
///
/// Unknown names behave like known ones and cost the same work.
struct FreedomLogins: Sendable {
  enum Outcome: Sendable, Hashable {
    case loggedIn(FreedomIDUser)
    /// The second factor is required too.
    case twoFactor(IssuedChallenge)
  }

  /// Seconds for which a challenge can be resent, even if its code has expired.
  private static let memory = 3600.0

  private let tokenGenerator: TokenGenerator
  private var challenges = ExpiringTable<IssuedChallenge>()
  private var locks = FreedomLocks()

  init(tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
  }

  mutating func unlock() { locks = FreedomLocks() }

  /// Checks a password.
  ///
  /// - Parameter person: The person with this name.
  mutating func password(
    _ password: String, of name: LoginIdentifier, _ person: FreedomIDUser?, at place: String,
    _ settings: FreedomIDBackendSettings, now: Date
  ) throws(FreedomRefusal) -> Outcome {
    try locks.check(name, now: now)
    let isRight = Self.isSame(password, person?.password)
    guard let person, isRight else {
      _ = try locks.failed(name, settings, now: now)
      throw .credentials
    }
    return proven(person, name, at: place, settings, now)
  }

  /// Begins a log-in with an SMS code.
  mutating func otp(
    _ name: LoginIdentifier, _ person: FreedomIDUser?, at place: String,
    _ settings: FreedomIDBackendSettings,
    now: Date
  ) throws(FreedomRefusal) -> IssuedChallenge {
    try locks.check(name, now: now)
    return begin(
      .otp, name, person?.id, at: place, channel: .sms, target: name.text,
      attempts: settings.attempts, settings, now)
  }

  /// Checks a code.
  ///
  /// - Parameter find: Returns the person with an id.
  mutating func verify(
    _ code: String, of id: String, _ purpose: IssuedChallenge.Purpose, at place: String,
    _ settings: FreedomIDBackendSettings, now: Date, find: (String) -> FreedomIDUser?
  ) throws(FreedomRefusal) -> Outcome {
    guard let challenge = challenge(id, at: place, now: now), challenge.purpose == purpose,
      challenge.successor == nil
    else { throw .codeOver }
    try locks.check(challenge.name, now: now)
    guard challenge.attemptsLeft > 0, challenge.expires > now else { throw .codeOver }
    let person = challenge.person.flatMap(find)
    let isRight =
      challenge.channel == .totp
      ? person?.totp.step(of: code, at: now) != nil : Self.isSame(code, challenge.code)
    guard let person, isRight else { throw wrong(challenge, settings, now) }
    challenges.remove(id)
    switch purpose {
    case .otp: return proven(person, challenge.name, at: place, settings, now)
    case .twoFactor:
      locks.forget(challenge.name)
      return .loggedIn(person)
    }
  }

  /// Replaces a challenge with a new one. A repeated request returns the same one, since the first
  /// response may be lost.
  ///
  /// - Returns: The challenge, and whether to send its code.
  mutating func resend(
    _ id: String, at place: String, _ settings: FreedomIDBackendSettings, now: Date
  ) throws(FreedomRefusal) -> (challenge: IssuedChallenge, isNew: Bool) {
    guard let old = challenge(id, at: place, now: now) else { throw .codeOver }
    try locks.check(old.name, now: now)
    if let next = old.successor {
      guard let successor = challenge(next, at: place, now: now), successor.successor == nil
      else { throw .codeOver }
      return (successor, false)
    }
    guard old.attemptsLeft > 0 else { throw .codeOver }
    guard old.resendAt <= now else { throw .tooEarly(until: old.resendAt, now: now) }
    let next = begin(
      old.purpose, old.name, old.person, at: place, channel: old.channel, target: old.target,
      attempts: old.attemptsLeft, settings, now)
    challenges.update(id) { $0.successor = next.id }
    return (next, true)
  }

  private func challenge(_ id: String, at place: String, now: Date) -> IssuedChallenge? {
    guard let challenge = challenges.value(id.lowercased(), now: now), challenge.place == place
    else { return nil }
    return challenge
  }

  /// Continues after the first factor.
  private mutating func proven(
    _ person: FreedomIDUser, _ name: LoginIdentifier, at place: String,
    _ settings: FreedomIDBackendSettings,
    _ now: Date
  ) -> Outcome {
    guard let channel = person.twoFactor else {
      locks.forget(name)
      return .loggedIn(person)
    }
    return .twoFactor(
      begin(
        .twoFactor, name, person.id, at: place, channel: channel,
        target: person.address(channel) ?? "", attempts: settings.attempts, settings, now))
  }

  private mutating func begin(
    _ purpose: IssuedChallenge.Purpose, _ name: LoginIdentifier, _ person: String?,
    at place: String, channel: FreedomChannel, target: String, attempts: Int,
    _ settings: FreedomIDBackendSettings, _ now: Date
  ) -> IssuedChallenge {
    let expires = now.addingTimeInterval(Double(settings.otpSeconds))
    let challenge = IssuedChallenge(
      id: tokenGenerator.uuid(), purpose: purpose, name: name, person: person, place: place,
      channel: channel, target: target,
      code: tokenGenerator.digits(channel == .totp ? 6 : settings.otpDigits), expires: expires,
      resendAt: now.addingTimeInterval(Double(settings.resendSeconds)), attemptsLeft: attempts)
    challenges.insert(
      challenge, for: challenge.id, until: max(expires, now.addingTimeInterval(Self.memory)),
      now: now)
    return challenge
  }

  /// Counts a wrong code for the challenge and the name.
  private mutating func wrong(
    _ challenge: IssuedChallenge, _ settings: FreedomIDBackendSettings, _ now: Date
  ) -> FreedomRefusal {
    let left = challenge.attemptsLeft - 1
    challenges.update(challenge.id) { $0.attemptsLeft = left }
    guard left > 0 else { return locks.lock(challenge.name, settings, now: now) }
    do throws(FreedomRefusal) {
      return .wrongCode(
        attemptsLeft: min(left, try locks.failed(challenge.name, settings, now: now)))
    } catch {
      return error
    }
  }

  /// Compares in constant time, even if there is no expected text.
  private static func isSame(_ text: String, _ expected: String?) -> Bool {
    let isEqual =
      SHA256.hash(data: Data(text.utf8)) == SHA256.hash(data: Data((expected ?? "").utf8))
    return isEqual && expected != nil
  }
}
