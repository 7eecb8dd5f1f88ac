/// An error of the identity and capture hosts: `{"success": false, "errors": […]}`.
struct IdentityRefusal: Error, Hashable {
  let status: Int
  let code: Int
  let cause: String

  private init(_ status: Int, _ code: Int, _ cause: String) {
    (self.status, self.code, self.cause) = (status, code, cause)
  }

  /// A header or member is missing or invalid.
  static func invalid(_ cause: String) -> IdentityRefusal { Self(400, 1539, cause) }
  static let token = Self(401, 1401, "TOKEN_NOT_VALID")
  static let notWhitelisted = Self(403, 1403, "MERCHANT_NOT_WHITELISTED")
  static let noSubmission = Self(404, 1519, "SUBMISSION_NOT_FOUND")
  static let notRedeemed = Self(409, 1601, "AUTH_CODE_NOT_REDEEMED")

  static func failed(_ error: any Error) -> IdentityRefusal {
    Self(500, 900, "the sandbox failed: \(error)")
  }

  var reply: Reply {
    let error: JSON = [
      "code": .integer(code), "entity": "FLOW_MANAGER", "cause": .string(cause),
    ]
    return .json(
      ["success": false, "errors": [error]], status: status, error: String(code))
  }
}

/// Converts a handler's error into a response of the identity and capture hosts.
nonisolated(nonsending) func respondingWithIdentityErrors(
  _ handle: nonisolated(nonsending) () async throws -> Reply
) async -> Reply {
  do {
    return try await handle()
  } catch let refusal as IdentityRefusal {
    return refusal.reply
  } catch let refusal as OAuthError {
    return IdentityRefusal.invalid(refusal.description).reply
  } catch let failure as GoPayLedger.Failure {
    let refusal: IdentityRefusal =
      switch failure {
      case .unknown, .closed: .token
      case .notWhitelisted: .notWhitelisted
      }
    return refusal.reply
  } catch {
    return IdentityRefusal.failed(error).reply
  }
}

extension Reply {
  /// Returns a successful response of the identity and capture hosts.
  static func identity(_ data: [String: JSON], _ overrides: [String: JSON]) -> Reply {
    .json(["success": true, "data": .object(data.applying(overrides: overrides))])
  }
}

extension EndpointCall {
  func identityHeader(_ name: String) throws(IdentityRefusal) -> String {
    guard let value = headers[name], !value.isEmpty else { throw .invalid("\(name) is missing") }
    return value
  }

  /// Throws if the request does not come from the registered merchant.
  func checkMerchant() throws(IdentityRefusal) {
    guard try identityHeader("x-merchant-id") == GoPayPartner.merchantID else {
      throw .notWhitelisted
    }
  }

  /// Requires both headers: the vendor's page has one in its table, the other in its example.
  func checkCorrelation() throws(IdentityRefusal) {
    for name in ["request-id", "correlation-id"] { _ = try identityHeader(name) }
  }
}
