import FoundationEssentials

/// An error of Freedom: `{"error": {"message", "code"}}`, or with `errors` by member.
struct FreedomRefusal: Error, Hashable {
  let status: Int
  let message: String
  var code: Int?
  var errors: [String: [String]] = [:]
  var attemptsLeft: Int?
  /// Seconds for the `Retry-After` header.
  var retryAfter: Int?

  private init(_ status: Int, _ code: Int?, _ message: String) {
    (self.status, self.code, self.message) = (status, code, message)
  }

  static let apiKey = Self(401, 100_001, "the API key is invalid")
  static let client = Self(401, 100_001, "the client is unknown, or its secret is wrong")
  static let device = Self(401, 100_002, "the device is not known")
  static let otherClient = Self(403, 100_003, "the API key is not for this kind of client")
  static let token = Self(401, 100_004, "the token is invalid")
  static let authorizationCode = Self(422, 100_101, "the authorization code is invalid")
  static let credentials = Self(401, 100_201, "the phone, the e-mail or the password is wrong")
  static let codeOver = Self(410, 100_203, "the code has expired")
  static let mayNotGive = Self(403, 100_301, "access to these data is not permitted")

  static func wrongCode(attemptsLeft: Int) -> Self {
    var refusal = Self(422, 100_202, "the code is wrong")
    refusal.attemptsLeft = attemptsLeft
    return refusal
  }

  static func locked(until end: Date, now: Date) -> Self {
    var refusal = Self(423, 100_204, "too many failures; sign-in is locked")
    refusal.retryAfter = now.secondsUntil(end)
    return refusal
  }

  static func tooEarly(until end: Date, now: Date) -> Self {
    var refusal = Self(429, 100_205, "another code cannot be sent yet")
    refusal.retryAfter = now.secondsUntil(end)
    return refusal
  }

  /// - Parameter errors: The errors of each member.
  static func invalid(_ errors: [String: [String]], status: Int = 422) -> Self {
    var refusal = Self(status, nil, "the request is not valid")
    refusal.errors = errors
    return refusal
  }

  static func failed(_ error: any Error) -> Self {
    Self(500, nil, "the sandbox failed: \(error)")
  }

  /// - Parameter inside200: Whether to send the error with status 200.
  func reply(inside200: Bool) -> Reply {
    var members: [String: JSON] = ["message": .string(message)]
    members["code"] = code.map { .integer($0) }
    members["attempts_left"] = attemptsLeft.map { .integer($0) }
    if !errors.isEmpty {
      members["errors"] = .object(errors.mapValues { .array($0.map { .string($0) }) })
    }
    var reply = Reply.json(
      ["error": .object(members)], status: inside200 ? 200 : status,
      error: code.map { String($0) } ?? "invalid")
    reply.headers["Retry-After"] = retryAfter.map { String($0) }
    return reply
  }
}

/// Converts a handler's error into a Freedom response.
nonisolated(nonsending) func respondingWithFreedomErrors(
  inside200: Bool, _ handle: nonisolated(nonsending) () async throws -> Reply
) async -> Reply {
  do {
    return try await handle()
  } catch let refusal as FreedomRefusal {
    return refusal.reply(inside200: inside200)
  } catch {
    return FreedomRefusal.failed(error).reply(inside200: inside200)
  }
}

extension Date {
  /// Returns the whole seconds until a time, at least 1.
  fileprivate func secondsUntil(_ end: Date) -> Int {
    max(1, Int(end.timeIntervalSince(self).rounded(.up)))
  }

  /// The time in Freedom's format: RFC 3339 with microseconds.
  var freedomTime: JSON {
    let whole = timeIntervalSince1970.rounded(.down)
    let micros = Int(((timeIntervalSince1970 - whole) * 1_000_000).rounded(.down))
    let digits = String(micros)
    let fraction = String(repeating: "0", count: 6 - digits.count) + digits
    let text = Date(timeIntervalSince1970: whole).formatted(.iso8601).dropLast()
    return .string("\(text).\(fraction)Z")
  }
}
