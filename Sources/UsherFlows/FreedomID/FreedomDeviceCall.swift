import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// A call to Freedom ID in mode `device`. The vendor does not document this API, so the calls
/// follow a contract that the project defined (page FreedomID in Usher.docc).
package enum FreedomDeviceCall: ProviderCall {
  /// Requests the accounts that are linked to a device.
  ///
  /// - Parameter device: The id of the owner's installation.
  case accounts(device: String)
  case otp(phone: Secret, device: String)
  case otpCheck(challenge: String, code: Secret, device: String)
  case password(FreedomName, password: Secret, device: String)
  case twoFactor(challenge: String, code: Secret, device: String)
  case resend(challenge: String, device: String)
  /// Submits the grants that the user agreed to; the reply is the user's profile.
  ///
  /// - Parameter request: A UUID that identifies the submission; the same when the call is
  ///   repeated.
  case consent(AccountID, [DataGrant], request: String, device: String)
  case renewal(Secret, device: String? = nil)
  case untying(Secret, device: String? = nil)

  package var revokedToken: RevokedToken? {
    guard case .untying(let token, device: _) = self else { return nil }
    return RevokedToken(secret: token, kind: .refreshToken)
  }

  package var name: String {
    switch self {
    case .accounts: "accounts"
    case .otp: "login_otp"
    case .otpCheck: "login_otp_verify"
    case .password: "login_password"
    case .twoFactor: "login_two_factor"
    case .resend: "login_resend"
    case .consent: "device_consent"
    case .renewal, .untying: "device_token"
    }
  }

  package var endpoint: ProviderEndpoint { if case .renewal = self { .token } else { .other } }

  package var account: AccountID? {
    if case .consent(let account, _, request: _, device: _) = self { account } else { nil }
  }

  /// The id of the device that the request names; nil if it is not known.
  var device: String? {
    switch self {
    case .accounts(let device), .otp(phone: _, let device),
      .otpCheck(challenge: _, code: _, let device), .password(_, password: _, let device),
      .twoFactor(challenge: _, code: _, let device), .resend(challenge: _, let device),
      .consent(_, _, request: _, let device):
      device
    case .renewal(_, let device), .untying(_, let device): device
    }
  }

  /// Returns whether the reply's error code says that the token is invalid. A 401 with another code
  /// concerns the API key or the device.
  package func refusesToken(_ reply: HTTPReply) -> Bool {
    guard account != nil, case .refused(let refusal) = FreedomIDReply(.reply(reply)) else {
      return false
    }
    return refusal.refusesToken
  }

  /// The user input in the request. Texts of the reply that repeat it are not shown.
  var typed: [Secret] {
    switch self {
    case .otp(let phone, device: _): [phone]
    case .otpCheck(challenge: _, let code, device: _),
      .twoFactor(challenge: _, let code, device: _):
      [code]
    case .password(let name, let password, device: _): [name.text.unsealed(), password]
    case .accounts, .resend, .consent, .renewal, .untying: []
    }
  }
}

extension FreedomDeviceCall {
  package func render(_ context: RenderContext<FreedomIDSettings>) throws(UsherError) -> HTTPRequest
  {
    let settings = context.provider.settings
    let key = try context.requiredCredential()
    func request(
      _ method: HTTPRequest.Method, _ path: ProviderPath, _ body: [String: JSONValue]?,
      device: String?, _ headers: [HTTPRequest.Header] = []
    ) -> HTTPRequest {
      let device = device.map { [HTTPRequest.Header("X-Device-Id", public: $0)] } ?? []
      return .json(
        method, path.url(under: settings.baseURL), body,
        [.init("X-API-Key", key)] + device + headers)
    }
    let paths = settings.paths
    switch self {
    case .accounts(let device): return request(.get, paths.accounts, nil, device: device)
    case .otp(let phone, let device):
      return request(.post, paths.loginOTP, ["phone": .revealing(phone)], device: device)
    case .otpCheck(let challenge, let code, let device):
      return request(.post, paths.loginOTPVerify, .answer(to: challenge, code), device: device)
    case .password(let name, let password, let device):
      let body: [String: JSONValue] = [
        FreedomName.field(of: name.method).name: .revealing(name.text.unsealed()),
        "password": .revealing(password),
      ]
      return request(.post, paths.loginPassword, body, device: device)
    case .twoFactor(let challenge, let code, let device):
      return request(.post, paths.loginTwoFactor, .answer(to: challenge, code), device: device)
    case .resend(let challenge, let device):
      return request(.post, paths.loginResend, ["challenge_id": .string(challenge)], device: device)
    case .consent(_, let grants, let id, let device):
      let body: [String: JSONValue] = [
        "request_id": .string(id), "grants": .array(grants.map { .string($0.wire) }),
      ]
      return request(.post, paths.deviceConsent, body, device: device, [try .bearer(context)])
    case .renewal(let token, let device):
      return request(.patch, paths.deviceToken, nil, device: device, [.bearer(token)])
    case .untying(let token, let device):
      return request(.delete, paths.deviceToken, nil, device: device, [.bearer(token)])
    }
  }
}

extension JSONValue {
  fileprivate static func revealing(_ secret: Secret) -> JSONValue { .string(secret.revealed()) }
}

extension [String: JSONValue] {
  fileprivate static func answer(to challenge: String, _ code: Secret) -> [String: JSONValue] {
    ["challenge_id": .string(challenge), "code": .revealing(code)]
  }
}
