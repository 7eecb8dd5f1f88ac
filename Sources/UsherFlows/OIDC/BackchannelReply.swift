import JSONRPC
import UsherConfig
package import UsherCore

/// The reply of the backchannel authentication endpoint (CIBA Core §7.3).
package struct BackchannelAuthorization: Codable, Sendable, Equatable {
  package var requestID: Sealed<Secret>
  package var expiresAt: Timestamp
  /// Seconds between two polls, from 1 to 300. The default is 5.
  package var interval: Int
}

extension BackchannelAuthorization: PolledAuthorization {
  func poll(_ metadata: OIDCMetadata) -> OIDCCall {
    .backchannelPoll(requestID: requestID.unsealed(), metadata)
  }
}

package typealias BackchannelReply = OAuthReply<BackchannelAuthorization>

extension OAuthReply where Granted == BackchannelAuthorization {
  package init(_ reply: HTTPReply, from provider: ProviderName, at now: Timestamp) {
    self.init(reply, from: provider) { members throws(UnusableReply) in
      guard let id = members["auth_req_id"]?.stringValue, id.isVisible(upTo: 4096) else {
        throw UnusableReply("the provider's answer has no usable auth_req_id")
      }
      guard let lifetime = members["expires_in"]?.lifetime else {
        throw UnusableReply("the provider's answer has no expires_in")
      }
      let interval = members["interval"]?.lifetime?.components.seconds ?? 5
      return BackchannelAuthorization(
        requestID: Sealed(Secret(id)), expiresAt: now + lifetime,
        interval: Int(min(max(interval, 1), 300)))
    }
  }
}
