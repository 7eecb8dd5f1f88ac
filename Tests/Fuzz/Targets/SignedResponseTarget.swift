import JSONRPC
import UsherCore

@testable import UsherFlows

extension FuzzTarget {
  /// The claims of a signed authorization response are accepted only if issuer, client, time and
  /// state are those that are expected; what is read of them is in the claims; and no message shows
  /// the state.
  static let signedResponse = FuzzTarget("signed-response", words: ["UsherFlows/OIDC"]) { input in
    let claims = HTTPReply(status: 200, body: input).jsonObject ?? [:]
    let result = Result { () throws(UnusableReply) in
      try SignedResponse.read(
        payload: input,
        .init(
          issuer: issuer, clientID: client, state: Secret(state),
          now: Timestamp(seconds: 1_800_000_000), skew: .seconds(60)))
    }
    switch result {
    case .success(let response): try checkAccepted(response, claims)
    case .failure(let refusal):
      // A claim may contain the text that the message quotes.
      let others = JSONValue.object(claims.filter { $0.key != "state" })
      let quoted = String(decoding: others.encoded(), as: UTF8.self)
      try requireShowable(
        refusal.message, without: quoted.contains(state) ? [] : [state], "the refusal")
    }
  }
}

private let state = "state-secret-81c5"
private let issuer = "https://id.example.com"
private let client = "usher"

private func checkAccepted(
  _ response: AuthorizationResponse, _ claims: [String: JSONValue]
) throws {
  let audience = claims["aud"]?.arrayValue ?? claims["aud"].map { [$0] } ?? []
  let isForClient = !audience.isEmpty && audience.allSatisfy { $0 == .string(client) }
  try require(claims["iss"] == .string(issuer), "another issuer is accepted")
  try require(isForClient, "an answer for another client is accepted")
  try require(claims["state"] == .string(state), "another state is accepted")
  try require((claims["exp"]?.numberValue ?? 0) > 1_799_999_939.999, "an old answer is accepted")
  try require(response.code?.revealed() == claims["code"]?.stringValue, "another code is read")
  try require(response.iss == issuer && response.signed == nil, "another issuer is read")
  try requireShowable(response.error, "the error")
  try requireShowable(response.errorDescription, "the description")
}
