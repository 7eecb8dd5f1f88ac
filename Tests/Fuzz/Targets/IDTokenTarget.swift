import JSONRPC
import UsherConfig
import UsherCore

@testable import UsherFlows

extension FuzzTarget {
  /// The header of an ID token is accepted only with an accepted algorithm and without `crit`; the
  /// key that verifies the token is one of the key set and has only public members; the claims are
  /// accepted only if an independent check accepts them; and no message shows the nonce or the
  /// person.
  ///
  /// An input has four lines: the header, the claims, the key set and the accepted algorithms.
  static let idToken = FuzzTarget("id-token", words: ["UsherFlows/OIDC"]) { input in
    let lines = input.lines + [[], [], [], []]
    let parts = [lines[0], lines[1], Array("signature".utf8)].map { Base64URL.encode($0) }
    try require(Base64URL.decode(parts[0]) == lines[0], "Base64 changes the header")
    let token = Secret(parts.joined(separator: "."))
    var metadata = OIDCMetadata(issuer: ClaimsCheck.issuer)
    if !lines[3].isEmpty {
      metadata.idTokenAlgorithms = lines[3].text.split(separator: ",").map(String.init)
    }
    try checkKey(
      of: token, lines[0], lines[2], accepting: metadata.idTokenAlgorithms ?? ["RS256"],
      TokenProtection(algorithms: SigningAlgorithm.accepted(by: metadata)))
    // An HMAC algorithm uses no key of the key set, even if it is configured.
    try checkKey(
      of: token, lines[0], lines[2], accepting: [],
      TokenProtection(algorithms: [.hs256, .hs384, .hs512]))
    try ClaimsCheck(claims: HTTPReply(status: 200, body: lines[1]).jsonObject)
      .check(IDTokenClaims.check(payload: lines[1], ClaimsCheck.expectation))
    // The whole input as a token, which need not be encoded.
    _ = try? JOSEHeader(
      of: Secret(input.text), TokenProtection(algorithms: Set(SigningAlgorithm.allCases)))
    for algorithm in SigningAlgorithm.allCases {
      try require(
        !algorithm.isValid(Secret(input.text), by: Secret("client-secret")), "a MAC was guessed")
    }
  }
}

private func checkKey(
  of token: Secret, _ header: [UInt8], _ keySet: [UInt8], accepting accepted: [String],
  _ protection: TokenProtection
) throws {
  let keySet = (try? JSONValue(parsing: keySet)) ?? .null
  let members = HTTPReply(status: 200, body: header).jsonObject ?? [:]
  let name = members["alg"]?.stringValue ?? ""
  switch SigningKey(for: token, in: keySet, protection) {
  case .refused(let message): try requireShowable(message, "the refusal of the token")
  case .unknownKey: break
  case .key(let key, let algorithm):
    try require(
      algorithm.rawValue == name && accepted.contains(name) && members["crit"] == nil,
      "a key for a header that must be refused")
    let all = key.objectValue ?? [:]
    try require(
      Set(all.keys).isSubset(of: ["kty", "alg", "crv", "kid", "n", "e", "x", "y"]),
      "the key has the members \(all.keys.sorted())")
    let matching = keySet["keys"]?.arrayValue?.filter { candidate in
      ["kty", "crv", "n", "e", "x", "y"].allSatisfy { all[$0] == nil || all[$0] == candidate[$0] }
    }
    try require(matching?.isEmpty == false, "the key is not in the key set")
  }
}

private struct ClaimsCheck {
  static let issuer = "https://id.example.com"
  static let client = "usher"
  static let nonce = "nonce-secret-93a7"
  static let now = Timestamp(seconds: 1_800_000_000)
  static let expectation = IDTokenClaims.Expectation(
    issuer: issuer, clientID: client, nonce: Secret(nonce), now: now, skew: .seconds(60),
    accessToken: Secret("access-secret"), algorithm: .rs256, maxAge: 600)

  let claims: [String: JSONValue]?

  func check(_ result: Result<IDTokenClaims, IDTokenClaims.Rule>) throws {
    switch result {
    case .failure(let rule):
      let text = rule.explanation(
        about: claims ?? [:], issuer: Self.issuer, clientID: Self.client, now: Self.now)
      var secrets = [Self.nonce]
      // A claim may contain the text that the message quotes from another one.
      if let subject = claims?["sub"]?.stringValue, subject.hasPrefix("person-") {
        secrets.append(subject)
      }
      let others = claims?.filter { !["sub", "nonce"].contains($0.key) } ?? [:]
      let quoted = String(decoding: JSONValue.object(others).encoded(), as: UTF8.self)
      try requireShowable(text, without: secrets.filter { !quoted.contains($0) }, "the message")
    case .success(let found):
      guard let claims else { throw PropertyViolation(description: "no claims are accepted") }
      let seconds = Double(Self.now.milliseconds) / 1000
      let audience = claims["aud"]?.arrayValue ?? claims["aud"].map { [$0] } ?? []
      try require(claims["iss"] == .string(Self.issuer), "another issuer is accepted")
      try require(
        !audience.isEmpty && audience.allSatisfy { $0 == .string(Self.client) }, "another audience")
      try require(claims["nonce"] == .string(Self.nonce), "another nonce is accepted")
      try require(!(claims["sub"]?.stringValue ?? "").isEmpty, "no subject is accepted")
      try require((claims["exp"]?.numberValue ?? 0) > seconds - 60, "an expired token is accepted")
      try require(
        (claims["iat"]?.numberValue ?? .infinity) <= seconds + 60.001, "a future token is accepted")
      try require(found.person.subject == claims["sub"]?.stringValue, "another subject")
    }
  }
}
