import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

extension AccountRecord {
  /// When the daemon has to look at it though nobody asks, at the earliest; nil: never, as it stands.
  ///
  /// Then its grant ends, or its token is to be renewed, or its provider to be asked. It is written
  /// with the row, and does not depend on settings that may be others when it is read.
  ///
  /// - Parameter provider: Its own; nil where that is not there: then what to ask is not known.
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
      return details.attributes.isEmpty ? nil : AccountRow.unknownWaking
    }
    let followUp = ProviderRegistry.followUp(of: provider, attributes: details.attributes)
    guard let inquiry = followUp as? any AccountInquiry, !inquiry.isOver else { return nil }
    return max(inquiry.nextInquiry(after: now) ?? now, Self.first)
  }

  /// After ``AccountRow/unknownWaking``.
  private static let first = AccountRow.unknownWaking + .milliseconds(1)
}

extension AccountRecord {
  /// What its provider's calls are known by that may be about it.
  enum Calling: Equatable {
    case nobody
    /// Any may be.
    case unknown
    case key(String)
  }

  /// It is written with the row, and depends on settings as little as ``waking(at:for:)``.
  ///
  /// - Parameter provider: Its own; nil where that is not there: then it is not known.
  func calling(for provider: ProviderConfig?) -> Calling {
    guard let provider, isOf(provider) else {
      return details.attributes.isEmpty ? .nobody : .unknown
    }
    return ProviderRegistry.followUp(of: provider, attributes: details.attributes)
      .map { .key($0.callKey) } ?? .nobody
  }
}
