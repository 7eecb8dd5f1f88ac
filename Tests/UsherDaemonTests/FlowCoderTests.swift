import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

@testable import UsherDaemon

@Suite("Coding of flow machines")
struct FlowCoderTests {
  private let coder = FlowCoder(nonce: "known_")

  private func machine(_ provider: ProviderConfig, _ state: String = "asking") -> StubMachine {
    StubMachine(provider: Provider(provider)!, probe: "/nowhere", state: state)
  }

  private func other() throws -> ProviderConfig {
    var provider = try ProviderConfig.sample()
    provider.http.connectTimeoutSeconds = 7
    return provider
  }

  @Test("a packed flow machine is shorter than the plain one, and both decode to the same machine")
  func whole() throws {
    for provider in [try ProviderConfig.sample(), try other()] {
      let machine = machine(provider)
      let packed = try coder.pack(machine)
      let plain = try StoreCoder.encode(machine)
      #expect(packed.count < plain.count)
      #expect(try coder.expanded(packed) == plain)
      #expect(try coder.packed(plain, at: plain.indices) == packed)
      #expect(try coder.unpack(StubMachine.self, packed) == machine)
      #expect(try StoreCoder.decode(StubMachine.self, from: plain) == machine)
    }
  }

  @Test("a flow coder packs equal provider configurations alike, and different ones differently")
  func marks() throws {
    let one = try coder.pack(machine(try .sample()))
    #expect(try coder.pack(machine(try .sample())) == one)
    #expect(try coder.pack(machine(try other())) != one)
  }

  @Test("a provider configuration from an earlier version is read, and written in the present form")
  func older() throws {
    let plain = try StoreCoder.encode(machine(try .sample()))
    var members = try #require(try JSONValue(parsing: plain).objectValue)
    var provider = try #require(members["provider"]?.objectValue)
    #expect(provider.removeValue(forKey: "request_timeout_seconds") != nil)
    members["provider"] = .object(provider)
    let older = JSONValue.object(members).encoded()
    let packed = try coder.packed(older, at: older.indices)
    #expect(try coder.unpack(StubMachine.self, packed) == machine(try .sample()))
    #expect(try coder.expanded(packed) == plain)
  }

  @Test("a flow coder keeps text that looks like the start of a configuration mark")
  func texts() throws {
    for state in ["known", "known_", "\"known_0\"", "provider\":{}", "{\"provider\":{}}"] {
      let machine = machine(try .sample(), state)
      let packed = try coder.pack(machine)
      #expect(try coder.unpack(StubMachine.self, packed) == machine)
      let plain = try StoreCoder.encode(machine)
      #expect(try coder.packed(plain, at: plain.indices) == packed)
    }
  }

  @Test("a flow payload has the machine and all other members, or only those without a machine")
  func payload() throws {
    let machine = machine(try .sample())
    let stored = StoredFlow(
      type: .oidc, client: "till", uid: 1000, state: "asking", ending: .active)
    let payload = try stored.payload(with: coder.expanded(coder.pack(machine)))
    #expect(throws: Never.self) { try JSONValue(parsing: payload.bytes) }
    let (read, place) = try StoredFlow.reading(payload)
    #expect(read.client == "till" && read.uid == 1000 && read.ending == .active)
    let bytes = Array(payload.bytes[try #require(place)])
    #expect(try StoreCoder.decode(StubMachine.self, from: bytes) == machine)
    #expect(try StoredFlow.reading(stored.payload(with: nil)).machine == nil)
  }

  @Test("a flow payload that is not a JSON object is refused")
  func broken() {
    for text in ["", "[]", "{\"machine\":}", "{\"type\":\"oidc\"} x"] {
      let error = #expect(throws: UsherError.self) {
        try StoredFlow.reading(SealedPayload(Array(text.utf8)))
      }
      #expect(error?.reason == .storageUnavailable)
    }
  }
}
