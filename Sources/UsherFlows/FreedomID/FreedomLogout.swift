import Crypto
import JSONRPC
import UsherConfig
import UsherCore

/// The form of the call by which Freedom ID reports that a user has logged out, to the URL that a
/// partner registers as `revoke_uri` (provider contract §4.2; page FreedomID in Usher.docc).
///
/// The id of the tokens is the call's only credential. The reply is therefore the same whether or
/// not the daemon has tokens with that id, unless an account that may have them cannot be read.
struct FreedomLogoutCallback: CallbackDialect {
  let address: LoopbackAddress
  let path: String

  var method: HTTPRequest.Method { .post }
  var credentialName: String? { nil }

  /// Creates the dialect; nil in other modes than `oauth2`, or if no callback listener is
  /// configured.
  init?(_ settings: FreedomIDSettings) {
    guard settings.mode == .oauth2, let address = settings.callbackListen else { return nil }
    self.address = address
    path = settings.paths.revoke.text
  }

  func read(authorization: Secret?, body: [UInt8]) throws(CallbackRefusal) -> ProviderCallback {
    guard let members = (try? JSONValue(parsing: body))?.objectValue else {
      throw CallbackRefusal("the body is not a JSON object")
    }
    guard let id = members["id"]?.stringValue, (1...128).contains(id.utf8.count) else {
      throw CallbackRefusal("id is missing or not a string of at most 128 bytes")
    }
    return ProviderCallback(requestID: nil, authorization: Secret(id), members: [:])
  }

  func callKey(of callback: ProviderCallback) -> String {
    FreedomTokenID.hash(of: callback.authorization.revealed())
  }

  func answer(_ outcome: CallbackOutcome) -> HTTPReply {
    switch outcome {
    case .accepted, .unauthorized, .unknown, .conflict: .json(200, [:])
    case .unreadable(let refusal): Self.refusal(400, refusal.message)
    case .otherPath: Self.refusal(404, "there is nothing at this path")
    case .otherMethod: Self.refusal(405, "the method is not POST", ["allow": "POST"])
    case .tooLarge: Self.refusal(413, "the body is too large")
    case .unavailable: Self.refusal(503, "the call could not be processed: send it again")
    }
  }

  private static func refusal(
    _ status: Int, _ message: String, _ headers: [String: String] = [:]
  ) -> HTTPReply { .json(status, ["error": ["message": .string(message)]], headers) }
}

/// Handles Freedom ID's report that the user of an account has logged out, which makes the
/// account's tokens invalid.
struct FreedomLogout: AccountFollowUp {
  private let provider: ProviderName
  private let id: Secret

  /// Creates the follow-up from the account's attributes; nil if they contain no hash of the
  /// tokens' id.
  init?(_ provider: ProviderName, _ attributes: [String: JSONValue]) {
    guard let id = attributes[FreedomTokenID.attribute]?.stringValue, !id.isEmpty else {
      return nil
    }
    self.provider = provider
    self.id = Secret(id)
  }

  var callKey: String { id.revealed() }

  func validate(_ callback: ProviderCallback, token: Secret?) -> CallbackVerdict {
    concerns(callback) ? .match : .unauthorized
  }

  func changes(from callback: ProviderCallback, at now: Timestamp) -> FollowUpOutcome {
    // A new sign-in may have replaced the tokens meanwhile.
    guard concerns(callback) else { return .nothing }
    return .grantRevoked(
      ProviderErrorCode(name: provider, code: "logged_out", message: "the person has logged out"))
  }

  private func concerns(_ callback: ProviderCallback) -> Bool {
    Secret(FreedomTokenID.hash(of: callback.authorization.revealed())) == id
  }
}

/// The hash of the id of an account's tokens, which the account stores in its attributes.
///
/// A program that sends the id itself to the daemon ends the grant of the account. So clients that
/// see the account's attributes must not learn the id.
package enum FreedomTokenID {
  package static let attribute = "tokenIdHash"

  /// Returns the SHA-256 of the id in Base64url.
  package static func hash(of id: String) -> String {
    Base64URL.encode(SHA256.hash(data: Array(id.utf8)))
  }
}
