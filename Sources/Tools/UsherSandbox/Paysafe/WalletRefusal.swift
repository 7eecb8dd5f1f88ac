/// An error of the wallet API: `{"error": {"code", "message"}}`.
struct WalletRefusal: Error, Equatable {
  var status: Int
  var code: String
  var message: String
  /// Seconds for the `Retry-After` header.
  var retryAfter: Int?

  init(_ status: Int, _ code: String, _ message: String, retryAfter: Int? = nil) {
    self.status = status
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  static func invalid(_ message: String) -> WalletRefusal {
    WalletRefusal(400, "INVALID_REQUEST", message)
  }

  var reply: Reply {
    var reply = Reply.json(
      ["error": ["code": .string(code), "message": .string(message)]], status: status,
      error: code)
    if let retryAfter { reply.headers["Retry-After"] = "\(retryAfter)" }
    return reply
  }
}

/// The refusal of a request whose bearer token does not permit it (RFC 6750 §3).
enum BearerRefusal: Error, Equatable {
  case missing
  case invalid
  /// A config token, which has no customer.
  case notACustomers

  var reply: Reply {
    switch self {
    case .missing: reply(401, "Bearer", nil)
    case .invalid: reply(401, #"Bearer error="invalid_token""#, "invalid_token")
    case .notACustomers:
      reply(403, #"Bearer error="insufficient_scope""#, "insufficient_scope")
    }
  }

  private func reply(_ status: Int, _ challenge: String, _ error: String?) -> Reply {
    Reply(status: status, headers: ["WWW-Authenticate": challenge], error: error)
  }
}

/// Converts an error of a wallet handler into a response of the wallet API.
nonisolated(nonsending) func respondingWithWalletErrors(
  _ handle: nonisolated(nonsending) () async throws -> Reply
) async -> Reply {
  do {
    return try await handle()
  } catch let refusal as WalletRefusal {
    return refusal.reply
  } catch let refusal as BearerRefusal {
    return refusal.reply
  } catch let refusal as OAuthError {
    return WalletRefusal.invalid(refusal.description).reply
  } catch {
    return WalletRefusal(500, "INTERNAL_ERROR", "the sandbox failed: \(error)").reply
  }
}
