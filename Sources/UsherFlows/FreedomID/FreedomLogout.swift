import Crypto
import JSONRPC
import UsherConfig
import UsherCore

/// The call by which Freedom tells that a person has logged out: the partner's `revoke_uri` (contract
/// §4.2; the page FreedomID of the documentation).
///
/// All that it shows is the id of the tokens. So whoever calls learns nothing, not even whether there
/// are any of that id.
struct FreedomLogoutCallback: CallbackDialect {
  let address: LoopbackAddress
  let path: String

  var method: HTTPRequest.Method { .post }
  var credentialName: String? { nil }

  /// Nil where it is not listened to.
  init?(_ settings: FreedomIDSettings) {
    guard settings.mode == .oauth2, let address = settings.callbackListen else { return nil }
    self.address = address
    path = settings.paths.revoke.text
  }

  func read(
    authorization: Secret?, body: [UInt8]
  ) throws(CallbackRefusal) -> ProviderCallback {
    guard let members = (try? JSONValue(parsing: body))?.objectValue else {
      throw CallbackRefusal("the body is not a JSON object")
    }
    guard let id = members["id"]?.stringValue, (1...128).contains(id.utf8.count) else {
      throw CallbackRefusal("id is missing or no text of at most 128 bytes")
    }
    return ProviderCallback(requestID: nil, authorization: Secret(id), members: [:])
  }

  func callKey(of callback: ProviderCallback) -> String {
    FreedomTokenID.hash(of: callback.authorization.revealed())
  }

  func answer(_ outcome: CallbackOutcome) -> HTTPReply {
    switch outcome {
    case .taken, .unauthorized, .unknown, .conflict: Self.reply(200, [:])
    case .unreadable(let refusal): Self.refusal(400, refusal.message)
    case .otherPath: Self.refusal(404, "there is nothing at this path")
    case .otherMethod: Self.refusal(405, "the method is not POST", ["allow": "POST"])
    case .tooLarge: Self.refusal(413, "the body is too large")
    case .unavailable: Self.refusal(503, "it could not be kept: send it again")
    }
  }

  private static func refusal(
    _ status: Int, _ message: String, _ headers: [String: String] = [:]
  ) -> HTTPReply { reply(status, ["error": ["message": .string(message)]], headers) }

  private static func reply(
    _ status: Int, _ body: JSONValue, _ headers: [String: String] = [:]
  ) -> HTTPReply {
    HTTPReply(
      status: status, headers: headers.merging(["content-type": "application/json"]) { $1 },
      body: body.encoded())
  }
}

/// What an account's person may do after the flow: log out, by which the grant is over.
struct FreedomLogout: AccountFollowUp {

  private let provider: ProviderName
  private let id: Secret

  /// Nil where the provider has told no id of the tokens.
  init?(_ provider: ProviderName, _ attributes: [String: JSONValue]) {
    guard let id = attributes[FreedomTokenID.attribute]?.stringValue, !id.isEmpty else {
      return nil
    }
    self.provider = provider
    self.id = Secret(id)
  }

  var callKey: String { id.revealed() }

  func judge(_ callback: ProviderCallback, token: Secret?) -> CallbackVerdict {
    Secret(FreedomTokenID.hash(of: callback.authorization.revealed())) == id ? .mine : .unauthorized
  }

  func learn(_ callback: ProviderCallback, at now: Timestamp) -> FollowUpOutcome {
    // Somebody may have signed in meanwhile.
    guard Secret(FreedomTokenID.hash(of: callback.authorization.revealed())) == id else {
      return .nothing
    }
    return .grantIsOver(
      ProviderErrorCode(name: provider, code: "logged_out", message: "the person has logged out"))
  }
}

/// How an account knows the id of its tokens again.
///
/// The id itself ends the grant, whoever sends it: no client that sees the account shall have it.
package enum FreedomTokenID {
  package static let attribute = "tokenIdHash"

  /// Base64url of SHA-256.
  package static func hash(of id: String) -> String {
    Base64URL.encode(SHA256.hash(data: Array(id.utf8)))
  }
}
