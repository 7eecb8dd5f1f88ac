import JSONRPC
import UsherCore

/// The reply of the pushed authorization request endpoint (RFC 9126 §2.2): the request's reference.
typealias PushedRequestReply = OAuthReply<String>

extension OAuthReply where Granted == String {
  init(_ outcome: CallOutcome, from provider: ProviderName) {
    self.init(outcome) { reply in
      OAuthReply(reply, from: provider) { members throws(UnusableReply) in
        guard let uri = members["request_uri"]?.stringValue, uri.isVisible(upTo: 2048) else {
          throw UnusableReply("the provider's answer has no request_uri")
        }
        return uri
      }
    }
  }
}
