import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

extension AccountRecord {
  /// Returns the time at which the daemon must next look at the account without a request; nil if
  /// never while the account stays unchanged.
  ///
  /// At that time the grant expires, the token is due for renewal, or the provider is due for an
  /// inquiry. The time is stored with the row, so it does not depend on settings that may change
  /// before it is read.
  ///
  /// - Parameter provider: The account's provider; nil if it is not configured, so that its
  ///   inquiries are unknown.
  func waking(at now: Timestamp, for provider: ProviderConfig?) -> Timestamp? {
    [tokenWaking, inquiryWaking(now, provider)].compactMap(\.self).min()
  }

  private var tokenWaking: Timestamp? {
    let grant = details.grant
    guard grant.death == nil, grant.refreshToken != nil else { return nil }
    let end = grant.refreshExpiresAt
    let renewal = details.keepAlive ? TokenPlan.renewal(of: self, end) : nil
    return [end, renewal].compactMap(\.self).min().map { max($0, Self.first) }
  }

  private func inquiryWaking(_ now: Timestamp, _ provider: ProviderConfig?) -> Timestamp? {
    guard let provider, isOf(provider) else {
      return details.attributes.isEmpty ? nil : AccountRow.unknownWakeTime
    }
    let followUp = ProviderRegistry.followUp(of: provider, attributes: details.attributes)
    guard let inquiry = followUp as? any AccountInquiry, !inquiry.isOver else { return nil }
    return max(inquiry.nextInquiry(after: now) ?? now, Self.first)
  }

  /// The earliest stored time; later than ``AccountRow/unknownWakeTime``.
  private static let first = AccountRow.unknownWakeTime + .milliseconds(1)
}

extension AccountRecord {
  /// How the daemon finds the account for a provider's callback.
  enum Calling: Equatable {
    case nobody
    /// Any callback of the provider may concern the account.
    case unknown
    case key(String)
  }

  /// Returns how callbacks find the account. Stored with the row and independent of settings, like
  /// ``waking(at:for:)``.
  ///
  /// - Parameter provider: The account's provider; nil if it is not configured, so that the key is
  ///   unknown.
  func calling(for provider: ProviderConfig?) -> Calling {
    guard let provider, isOf(provider) else {
      return details.attributes.isEmpty ? .nobody : .unknown
    }
    return ProviderRegistry.followUp(of: provider, attributes: details.attributes)
      .map { .key($0.callKey) } ?? .nobody
  }
}
