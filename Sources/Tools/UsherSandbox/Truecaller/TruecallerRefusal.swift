/// An error in the format of the contract: `{"code", "message"}`.
struct TruecallerErrorReply: Error, Hashable {
  var status: Int
  var code: Int
  var message: String
  /// Further members of the response.
  var members: [String: JSON] = [:]

  private init(_ status: Int, _ code: Int, _ message: String) {
    self.status = status
    self.code = code
    self.message = message
  }

  static func invalid(_ message: String) -> TruecallerErrorReply { Self(400, 4000, message) }
  static let uncallable = Self(400, 4001, "the phone number cannot be called")
  static let unserved = Self(400, 4002, "the country is not served")
  static func developer(_ header: String) -> TruecallerErrorReply {
    Self(401, 4010, "the header \(header) is missing or wrong")
  }
  static let accessToken = Self(401, 4011, "the access token is invalid")
  static let verification = Self(410, 4100, "the verification is unknown or has ended")
  static let wrongCode = Self(422, 4220, "wrong code")
  static let name = Self(422, 4221, "the name is not accepted")
  static let numberCap = Self(429, 4291, "too many codes for this phone number today")
  static let installationCap = Self(429, 4292, "too many codes for this installation today")
  static let wrongCodeCap = Self(429, 4293, "too many wrong codes")
  /// The vendor's two validation errors, both with status 404.
  static let partner = Self(404, 404, "Invalid partner credentials.")
  static let invalidToken = Self(404, 1404, "Invalid access token.")

  static func failed(_ error: any Error) -> TruecallerErrorReply {
    Self(500, 500, "the sandbox failed: \(error)")
  }

  var reply: Reply {
    let own: [String: JSON] = ["code": .integer(code), "message": .string(message)]
    return .json(.object(members.merging(own) { $1 }), status: status, error: "\(code)")
  }
}

/// Converts a handler's error into a response of the Truecaller fake.
nonisolated(nonsending) func respondingWithTruecallerErrors(
  _ handle: nonisolated(nonsending) () async throws -> Reply
) async -> Reply {
  do {
    return try await handle()
  } catch let refusal as TruecallerErrorReply {
    return refusal.reply
  } catch let refusal as OAuthError {
    return TruecallerErrorReply.invalid(refusal.description).reply
  } catch {
    return TruecallerErrorReply.failed(error).reply
  }
}
