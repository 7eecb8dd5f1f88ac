import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Records the providers that are reported as changed.
private final class ChangeRecorder: ProviderObserver {
  private let changes = Recorded<Set<ProviderName>>()

  var all: [Set<ProviderName>] { changes.all }

  func providersChanged(_ changed: Set<ProviderName>) { changes.add(changed) }
}

@Suite("Credentials of provider calls", .timeLimit(.minutes(10)))
struct ProofsTests {
  private let harness: FlowHarness
  private let credentials: Credentials
  private let provider: ProviderConfig

  init() async throws {
    var config = Config()
    provider = try Self.provider("https://id.example")
    config.providers = [provider]
    harness = try FlowHarness(config: config)
    credentials = try Credentials(
      store: harness.store, passed: nil, on: Disk(), dependencies: harness.dependencies)
    try await set("first")
  }

  private static func provider(_ issuer: String) throws -> ProviderConfig {
    var settings = OIDCSettings(issuer: try ProviderURL(setting: issuer), clientID: "usher")
    settings.clientCredential = "sec"
    return ProviderConfig(name: .work, settings: settings)
  }

  private func set(_ value: String) async throws {
    _ = try await credentials.set(CredentialSet(name: "sec", value: WireSecret(Secret(value))))
  }

  /// Replaces the provider of that name, or removes it.
  private func replace(by other: ProviderConfig?) {
    var config = harness.dependencies.config
    config.providers = [other].compactMap(\.self)
    harness.dependencies.configStore.replace(
      by: config, harness.dependencies.configStore.current.policy)
  }

  @Test("a flow's call to an unchanged provider uses the present credential, not that of its start")
  func current() async throws {
    let tags = credentials.tags(of: provider)
    try await set("second")
    for flow in [tags, CredentialTags(), nil] {
      let proofs = credentials.callCredentials(of: provider, in: flow)
      #expect(proofs.credential == Secret("second"))
      #expect(proofs.named == ["sec": Secret("second")])
      #expect(proofs.missing == nil && proofs.change == nil)
    }
  }

  @Test("credential.set and credential.delete notify the caches of the providers that name it")
  func notified() async throws {
    let observer = ChangeRecorder()
    harness.dependencies.configStore.register(observer)
    try await set("second")
    _ = try await credentials.delete(CredentialDelete(name: "sec"))
    _ = try await credentials.set(CredentialSet(name: "other", value: WireSecret(Secret("v"))))
    #expect(observer.all == [[.work], [.work]])
  }

  @Test(
    "a changed or removed provider gets only the flow's own credential", arguments: [false, true])
  func moved(isGone: Bool) async throws {
    let tags = credentials.tags(of: provider)
    replace(by: isGone ? nil : try Self.provider("https://other.example"))
    #expect(credentials.callCredentials(of: provider, in: tags).credential == Secret("first"))
    try await set("second")
    let proofs = credentials.callCredentials(of: provider, in: tags)
    #expect(proofs.credential == nil && proofs.named.isEmpty)
    #expect(
      proofs.change?.message
        == "provider work and its credential sec were changed during the flow; start a new flow")
    try await set("first")
    #expect(credentials.callCredentials(of: provider, in: tags).credential == Secret("first"))
  }

  @Test("a flow without credential tags, or no flow, has no credential for a changed provider")
  func untagged() async throws {
    replace(by: try Self.provider("https://other.example"))
    let flow = credentials.callCredentials(of: provider, in: CredentialTags())
    #expect(flow.credential == nil && flow.named.isEmpty && flow.change != nil)
    let call = credentials.callCredentials(of: provider, in: nil)
    #expect(call.credential == nil && call.named.isEmpty)
    #expect(call.change?.message == "provider work was changed during the call; try again")
  }

  @Test("a flow that starts at a provider that was already replaced has no credential tags")
  func late() async throws {
    let other = try Self.provider("https://other.example")
    replace(by: other)
    #expect(credentials.tags(of: provider) == CredentialTags())
    #expect(credentials.tags(of: other) != CredentialTags())
  }

  @Test("stored credential tags contain no secret value, and a flow row without tags is readable")
  func stored() async throws {
    try await set("canary-9f2c")
    let tags = credentials.tags(of: provider)
    let bytes = try StoreCoder.encode(tags)
    #expect(!String(decoding: bytes, as: UTF8.self).contains("canary-9f2c"))
    #expect(try StoreCoder.decode(CredentialTags.self, from: bytes) == tags)
    struct Before: Codable {
      var type = ProviderVariety.oidc
      var state = "asking"
      var ending = FlowEnding.active
    }
    let (before, machine) = try StoredFlow.reading(SealedPayload(encoding: Before()))
    #expect(before.credentials == nil && machine == nil)
  }

  @Test("a flow overtaken by a provider change fails, retryable only if its outcome is known")
  func overtaken() async throws {
    let session = try await harness.open()
    harness.engine.deliver(.event(.providerChanged(.changed(.work, "sec"))), to: session)
    try await reached("the flow has ended") { session.flow.status == .failed }
    let failure = session.flow.failure
    #expect(failure?.reason == .providerRejected && failure?.retryable == true)
    #expect(failure?.message.hasSuffix("start a new flow") == true)
    let dark = try await harness.open(id: "flw_2")
    #expect(await harness.type("in the dark", dark) == nil)
    harness.engine.deliver(.event(.providerChanged(.changed(.work, "sec"))), to: dark)
    try await reached("the flow has ended") { dark.flow.status == .failed }
    #expect(dark.flow.failure?.retryable == false)
    #expect(dark.flow.failure?.message.contains("is not known") == true)
  }
}
