import UsherConfig

/// A machine that starts by fetching the provider's metadata (OpenID Connect Discovery §4).
protocol DiscoveringMachine: RetryingMachine {
  var provider: Provider<OIDCSettings> { get }

  /// Enters the state in which the daemon fetches the metadata.
  mutating func discover(_ retrying: RetryBackoff)
  /// Continues with the metadata.
  mutating func discovered(
    _ metadata: OIDCMetadata, _ transition: inout TransitionContext
  ) -> Answer<OIDCCall>
}

extension DiscoveringMachine {
  mutating func discovering(
    _ event: FlowEvent<OIDCCall>, _ retrying: RetryBackoff, _ transition: inout TransitionContext
  ) -> Answer<OIDCCall> {
    switch event {
    case .provider(.discovered(.found(let metadata))):
      if let flaw = provider.settings.flaw(of: metadata) { return .fail(.protocolError(flaw)) }
      return discovered(metadata, &transition)
    case .provider(.discovered(.unusable(let message))): return .fail(.protocolError(message))
    case .provider(.discovered(.unreachable(let message))):
      return retry(retrying, .unreachable(message)) { $0.discover($1) }
    case .woken where retrying.isPaused, .daemon(.resumed):
      discover(retrying.resumed)
      return .proceed([.discover])
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }
}
