import JSONRPC
import Testing
import UsherConfig
import UsherFlows

@Suite("Addresses in provider metadata")
struct MetadataAddressTests {
  /// Whether metadata of this issuer may name the address as its token endpoint.
  private func isUsable(
    _ address: String, of issuer: String, _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws -> Bool {
    var settings = OIDCSettings(issuer: try ProviderURL(setting: issuer), clientID: "usher")
    change(&settings)
    let document: JSONValue = [
      "issuer": .string(issuer), "authorization_endpoint": .string(issuer + "/authorize"),
      "token_endpoint": .string(address), "jwks_uri": .string(issuer + "/jwks"),
    ]
    switch OIDCMetadata.read(documents: [document], settings: settings) {
    case .found(let metadata): return metadata.tokenEndpoint == address
    case .unreachable, .unusable: return false
    }
  }

  @Test(
    "metadata of a public issuer is refused if it names a non-public host or a plain http address",
    arguments: [
      "http://127.0.0.1:8500/x", "http://localhost:8500/x", "http://[::1]:8500/x",
      "https://127.0.0.1/x", "https://127.1/x", "https://2130706433/x", "https://0x7f000001/x",
      "https://0177.0.0.1/x", "https://127.0.0.1./x", "https://localhost/x",
      "https://localhost./x", "https://a.localhost/x", "https://0.0.0.0/x", "https://0/x",
      "https://[::]/x", "https://[::1]/x", "https://[0:0:0:0:0:0:0:1]/x",
      "https://[::ffff:127.0.0.1]/x", "https://[::ffff:7f00:1]/x", "https://[::127.0.0.1]/x",
      "https://[::ffff:0:127.0.0.1]/x", "https://[::ffff:0:7f00:1]/x",
      "https://[64:ff9b::7f00:1]/x", "https://[2002:7f00:1::]/x",
      "https://169.254.169.254/latest", "https://[fe80::1]/x", "https://[::ffff:169.254.1.1]/x",
      "https://10.0.0.1/x", "https://172.16.0.1/x", "https://172.31.255.255/x",
      "https://192.168.1.1/x", "https://100.64.0.1/x", "https://[fc00::1]/x",
      "https://[fd12:3456::1]/x", "https://[fec0::1]/x", "https://[::ffff:10.0.0.1]/x",
      "https://224.0.0.1/x", "https://255.255.255.255/x", "https://[ff02::1]/x",
      "https://vault/x", "https://printer.local/x", "https://db.internal/x",
      "https://nas.home.arpa/x", "https://256.1.1.1/x", "https://1.2.3.4.5/x",
      "https://[1::2::3]/x", "https://[12345::]/x",
    ])
  func refused(address: String) throws {
    #expect(try !isUsable(address, of: "https://id.example.com"))
  }

  @Test(
    "metadata of a public issuer may name any public host as its token endpoint",
    arguments: [
      "https://id.example.com/token", "https://login.other.example:8443/token",
      "https://93.184.215.14/token", "https://172.15.0.1/x", "https://172.32.0.1/x",
      "https://100.63.0.1/x", "https://[2606:2800:220:1::1]/token",
      "https://[::ffff:93.184.215.14]/token", "https://10.example.com/token",
      "https://localhost.example.com/token",
    ])
  func taken(address: String) throws {
    #expect(try isUsable(address, of: "https://id.example.com"))
  }

  @Test(
    "metadata of a loopback or private issuer may name an address of its own kind or a public one",
    arguments: [
      ("http://127.0.0.1:9000", "http://127.0.0.1:9000/token"),
      ("http://127.0.0.1:9000", "http://localhost:9001/token"),
      ("https://localhost:9000", "https://127.0.0.1:9000/token"),
      ("https://10.1.2.3", "https://192.168.0.7/token"), ("https://sso", "https://sso/token"),
      ("https://[fd00::1]", "https://10.0.0.1/token"),
      ("http://127.0.0.1:9000", "https://id.example.com/token"),
    ])
  func sameKind(issuer: String, address: String) throws {
    #expect(try isUsable(address, of: issuer))
  }

  @Test(
    "metadata of a non-public issuer is refused if it names another kind or downgrades to http",
    arguments: [
      ("https://10.1.2.3", "http://127.0.0.1:1/token"),
      ("https://10.1.2.3", "https://127.0.0.1:1/token"),
      ("https://10.1.2.3", "https://169.254.169.254/token"),
      ("https://localhost:9000", "http://localhost:9000/token"),
      ("http://127.0.0.1:9000", "https://169.254.169.254/token"),
    ])
  func otherKind(issuer: String, address: String) throws {
    #expect(try !isUsable(address, of: issuer))
  }

  @Test("allow_private_endpoints lets a public issuer name private hosts, but not loopback ones")
  func privateEndpoints() throws {
    for (address, isTaken) in [
      ("https://10.0.0.1/x", true), ("https://db.internal/x", true),
      ("https://[fd12:3456::1]/x", true), ("https://127.0.0.1/x", false),
      ("https://169.254.169.254/x", false), ("https://[::ffff:127.0.0.1]/x", false),
      ("http://127.0.0.1/x", false),
    ] {
      let isUsable = try isUsable(address, of: "https://id.example.com") {
        $0.allowPrivateEndpoints = true
      }
      #expect(isUsable == isTaken, "\(address)")
    }
  }
}
