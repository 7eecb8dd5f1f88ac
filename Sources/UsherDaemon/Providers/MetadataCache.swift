import JSONRPC
import UsherConfig
import UsherCore
import UsherFlows

/// The OpenID Connect metadata of providers, fetched when first needed and again after an hour, or
/// after five minutes if a document could not be fetched. Concurrent flows share one fetch for each
/// provider.
actor MetadataCache: ProviderObserver {
  static let lifetime = Duration.seconds(3600)
  /// The lifetime of metadata that lacks a document which could not be fetched. Without it, each
  /// refresh would ask for that document.
  static let incompleteLifetime = Duration.seconds(300)

  private struct Entry {
    let settings: OIDCSettings
    let metadata: OIDCMetadata
    let fetchedAt: Timestamp
    let lifetime: Duration
  }

  private let http: ProviderHTTP
  private let dependencies: Dependencies
  private var entries: [ProviderName: Entry] = [:]
  private var fetching: [ProviderName: (OIDCSettings, Task<Discovery, Never>)] = [:]

  init(http: ProviderHTTP, dependencies: Dependencies) {
    self.http = http
    self.dependencies = dependencies
    dependencies.configStore.register(self)
  }

  /// Returns the metadata of a provider, from memory unless it is too old.
  func discovery(of config: ProviderConfig) async -> Discovery {
    guard let provider = Provider<OIDCSettings>(config) else {
      return .unusable(message: "provider \(config.name) does not use discovery")
    }
    let settings = provider.settings
    if let metadata = OIDCMetadata(configured: settings) { return .found(metadata) }
    if let entry = entries[provider.name], entry.settings == settings,
      (.zero..<entry.lifetime).contains(dependencies.clock.monotonicNow() - entry.fetchedAt)
    {
      return .found(entry.metadata)
    }
    if let (pending, task) = fetching[provider.name], pending == settings {
      return await task.value
    }
    let task = Task(executorPreference: dependencies.executor) {
      await self.fetchShared(provider)
    }
    fetching[provider.name] = (settings, task)
    return await task.value
  }

  private func fetchShared(_ provider: Provider<OIDCSettings>) async -> Discovery {
    let (discovery, isComplete) = await fetch(provider)
    if case .found(let metadata) = discovery {
      entries[provider.name] = Entry(
        settings: provider.settings, metadata: metadata,
        fetchedAt: dependencies.clock.monotonicNow(),
        lifetime: isComplete ? Self.lifetime : Self.incompleteLifetime)
    }
    fetching[provider.name] = nil
    return discovery
  }

  func providersChanged(_ providers: Set<ProviderName>) {
    for provider in providers { entries[provider] = nil }
  }

  /// Fetches the well-known documents without using the cache, and applies the overrides in the
  /// configuration.
  ///
  /// - Returns: The metadata, and whether all URLs answered usably, also that there is no document.
  func fetch(_ provider: Provider<OIDCSettings>) async -> (discovery: Discovery, isComplete: Bool) {
    let urls = OIDCMetadata.wellKnownURLs(issuer: provider.settings.issuer.text)
    var documents: [JSONValue] = []
    var failure: String?
    var flaw: String?
    for outcome in await outcomes(of: urls, provider) {
      switch outcome {
      case .reply(let reply) where reply.status == 200:
        if let document = reply.jsonObject {
          documents.append(.object(document))
        } else {
          flaw = "the provider's metadata is not a JSON object"
        }
      case .reply(let reply) where reply.status >= 500 || reply.status == 429:
        failure = "the provider answers HTTP \(reply.status)"
      case .reply: break
      case .unreachable(let message, _): failure = message
      case .unreadable(let message), .noToken(let message): flaw = message
      }
    }
    if documents.isEmpty, !OIDCMetadata.needsNoDocuments(provider.settings) {
      if let flaw { return (.unusable(message: flaw), false) }
      if let failure { return (.unreachable(message: failure), false) }
    }
    let discovery = OIDCMetadata.read(documents: documents, settings: provider.settings)
    return (discovery, failure == nil && flaw == nil)
  }

  /// Fetches the documents at the same time, and returns the outcomes in the order of the URLs.
  private func outcomes(
    of urls: [String], _ provider: Provider<OIDCSettings>
  ) async -> [CallOutcome] {
    await withTaskGroup(of: (Int, CallOutcome).self) { [http] group in
      for (place, url) in urls.enumerated() {
        group.addTask {
          (place, await http.send(OIDCCall.discovery(url: url), for: provider.config))
        }
      }
      var outcomes: [Int: CallOutcome] = [:]
      for await (place, outcome) in group { outcomes[place] = outcome }
      return urls.indices.compactMap { outcomes[$0] }
    }
  }
}
