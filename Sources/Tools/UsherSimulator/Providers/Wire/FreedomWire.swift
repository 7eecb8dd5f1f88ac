import JSONRPC

/// Freedom ID at `/freedomid`.
struct FreedomWire: ProviderWire {
  /// The lifetime of access tokens, which the sandbox is told.
  static let accessTokenSeconds = 300

  let prefix = "/freedomid"

  static func message(_ phone: String) -> String { "Freedom's message to \(phone)" }

  static func check(_ phone: String, _ code: JSONValue?) -> String {
    "Freedom's check of the code \(code?.stringValue ?? "") for \(phone)"
  }

  static func password(_ name: String, _ password: JSONValue?) -> String {
    "Freedom's check of the password \(password?.stringValue ?? "") of \(name)"
  }

  /// Returns the values of a profile.
  static func members(of profile: JSONValue) -> [String] {
    (profile.objectValue ?? [:]).sorted { $0.key < $1.key }.compactMap(\.value.stringValue)
  }

  func refreshToken(_ request: WireRequest) -> String? {
    request.method == "PATCH" ? request.bearer : OpenIDWire().refreshToken(request)
  }

  func revokedToken(_ request: WireRequest) -> String? {
    request.method == "DELETE" ? request.bearer : nil
  }

  func newTokens(
    _ request: WireRequest, _ reply: JSONValue, _ provided: ProvidedValues
  ) -> NewTokens? {
    if reply["expires_in"] != nil { return OpenIDWire.tokens(reply) }
    guard let token = reply["access_token"]?.stringValue else { return nil }
    // The reply for a code does not say whose the tokens are; the person remembered it.
    let code = request["authorization_code"].flatMap { provided.note(of: $0) }
    let account = reply["account"]?["id"]?.stringValue
    let device = request.headers["x-device-id"]
    return NewTokens(
      subject: account ?? code, accessToken: token,
      refreshToken: reply["refresh_token"]?.stringValue, seconds: Int64(Self.accessTokenSeconds),
      tie: account.map { "\($0) at \(device ?? "")" }, isEndATime: true)
  }

  func singleRequest(_ request: WireRequest, _ provided: ProvidedValues) -> SingleRequest? {
    let challenge = request["challenge_id"].map { provided.note(of: "challenge \($0)") ?? "" }
    switch (request.method, request.segments.last) {
    case ("POST", "otp"):
      return SingleRequest(
        name: Self.message(request["phone"] ?? ""), isAsked: true, refusals: [429])
    case ("POST", "resend"):
      return SingleRequest(
        name: Self.message(challenge ?? ""), isAsked: true, refusals: [429])
    case ("POST", "verify"), ("POST", "two-factor"):
      return SingleRequest(
        name: Self.check(challenge ?? "", request.body["code"]), isAsked: true,
        refusals: [429])
    case ("POST", "password"):
      let name = request["email"] ?? request["phone"] ?? ""
      return SingleRequest(
        name: Self.password(name, request.body["password"]), isAsked: true, refusals: [429])
    case ("POST", "token"):
      guard let code = request["authorization_code"] ?? request["code"] else { return nil }
      return SingleRequest(
        name: "redemption of the code \(code)", refusals: [429], postponements: [503])
    case ("POST", "user"), ("PUT", "user"):
      let text = String(decoding: request.body.encoded(), as: UTF8.self)
      return SingleRequest(
        name: "\(request.method) \(request.path) \(text)", refusals: [401, 429])
    default: return nil
    }
  }

  func record(_ request: WireRequest, _ reply: JSONValue, in provided: ProvidedValues) {
    recordChallenge(request, reply, in: provided)
    if let id = reply["freedom_id"]?.stringValue {
      let phone = request["phone"].flatMap { SandboxAccount.owner($0) }
      provided.record(id, owner: phone ?? provided.owner(of: id))
    }
    let isUser = request.method == "GET" && request.segments.last == "user"
    for member in Self.members(of: isUser ? reply : reply["profile"] ?? .null) {
      provided.record(member, owner: SandboxAccount.owner(member))
    }
  }

  /// Remembers to which number a challenge was sent: later requests name only the challenge.
  private func recordChallenge(
    _ request: WireRequest, _ reply: JSONValue, in provided: ProvidedValues
  ) {
    let challenge = reply["two_factor"] ?? reply
    guard let id = challenge["challenge_id"]?.stringValue else { return }
    let previous = request["challenge_id"].flatMap { provided.note(of: "challenge \($0)") }
    let email = request["email"]?.prefix { $0 != "@" }
    let phone = request["phone"] ?? email.map { SandboxAccount.phone(of: String($0)) }
    provided.note(previous ?? phone ?? "", of: "challenge \(id)")
  }
}
