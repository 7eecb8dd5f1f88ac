import JSONRPC
import UsherConfig
package import UsherCore

/// The reply of the device authorization endpoint (RFC 8628 §3.2).
package struct DeviceAuthorization: Codable, Sendable, Equatable {
  package var deviceCode: Sealed<Secret>
  package var userCode: String
  package var verificationURI: String
  package var verificationURIComplete: String?
  package var expiresAt: Timestamp
  /// Seconds between two polls, from 1 to 300. The default is 5.
  package var interval: Int
}

extension DeviceAuthorization: PolledAuthorization {
  func poll(_ metadata: OIDCMetadata) -> OIDCCall {
    .devicePoll(deviceCode: deviceCode.unsealed(), metadata)
  }
}

package typealias DeviceReply = OAuthReply<DeviceAuthorization>

extension OAuthReply where Granted == DeviceAuthorization {
  package init(_ reply: HTTPReply, from provider: ProviderName, at now: Timestamp) {
    self.init(reply, from: provider) { members throws(UnusableReply) in
      try DeviceAuthorization(members, now)
    }
  }
}

extension DeviceAuthorization {
  fileprivate init(_ members: [String: JSONValue], _ now: Timestamp) throws(UnusableReply) {
    guard let code = members["device_code"]?.stringValue, !code.isEmpty else {
      throw UnusableReply("the provider's answer has no device_code")
    }
    guard let userCode = ProviderText.shown(members["user_code"]?.stringValue, limit: 64) else {
      throw UnusableReply("the provider's answer has no user_code")
    }
    // Drafts of the RFC and Google use the second name.
    let page = members["verification_uri"]?.stringValue ?? members["verification_url"]?.stringValue
    guard let page = page.flatMap(ProviderURL.init(usable:)) else {
      throw UnusableReply(
        "the provider's verification_uri is neither https nor http on the loopback")
    }
    let interval = members["interval"]?.lifetime?.components.seconds ?? 5
    self.init(
      deviceCode: Sealed(Secret(code)), userCode: userCode, verificationURI: page.text,
      verificationURIComplete: members["verification_uri_complete"]?.stringValue
        .flatMap(ProviderURL.init(usable:))?.text,
      expiresAt: now + (members["expires_in"]?.lifetime ?? .seconds(600)),
      interval: Int(min(max(interval, 1), 300)))
  }
}
