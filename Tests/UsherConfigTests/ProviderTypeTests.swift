import Foundation
import Testing
import UsherConfig

@Suite("Provider settings of every type")
struct ProviderTypeTests {
  @Test(
    "a provider of each type loads the same from the output of config show and from JSON",
    arguments: [
      provider, server, wallet, phones, identities, people, partner("oidc"),
      partner("oauth2") + "callback_listen = \"[::1]:1\"\n", members,
      members + "totp = { algorithm = \"SHA512\" }\nsite_url = \"https://x.example/\"\n",
    ])
  func roundTrip(text: String) throws {
    let config = try load(text)
    #expect(try load(config.show()) == config)
    let provider = try #require(config.providers.first)
    let json = try JSONEncoder().encode(provider)
    #expect(try JSONDecoder().decode(ProviderConfig.self, from: json) == provider)
  }

  @Test(
    "each missing required key of a provider type is reported at the provider's header",
    arguments: [
      ("oidc", ["issuer"]), ("oauth2", ["base_url", "client_id", "paths"]),
      ("paysafe", ["base_url", "client_id"]),
      ("truecaller", ["app_key_credential", "app_link"]), ("gopay", ["client_id", "merchant_id"]),
      ("freedomid", ["mode"]), ("bsa", ["client_key_credential", "app_package", "app_version"]),
    ])
  func missing(type: String, keys: [String]) {
    let expected = keys.map { "usherd.toml:2:1: provider[0].\($0): is missing" }
    #expect(
      problems("\n[[provider]]\nname = \"x\"\ntype = \"\(type)\"\n")
        == expected.joined(separator: "\n"))
  }

  @Test(
    "a secret in a bsa, freedomid, truecaller or gopay table is refused and not repeated",
    arguments: [
      (members, ["client_secret", "api_key", "token", "totp_secret", "client_key"]),
      (people, ["client_secret", "api_key", "token"]), (phones, ["client_secret", "app_key"]),
      (identities, ["client_secret", "private_key", "callback_value"]),
    ])
  func secrets(text: String, keys: [String]) {
    let line = text.split(separator: "\n").count + 1
    for key in keys {
      let found = problems(text + "\(key) = \"hunter2\"\n")
      #expect(found.hasPrefix("usherd.toml:\(line):1: provider[0].\(key): "), "\(found)")
      #expect(key != "client_secret" || found.contains("secrets must not be stored"))
      #expect(!found.contains("hunter2"))
    }
  }

  @Test(
    "each path key of a provider type sets its own path and no other",
    arguments: [
      (wallet, PaysafePaths.keys), (phones, TruecallerPaths.keys), (identities, GoPayPaths.keys),
      (people, FreedomIDPaths.keys), (members, BSAPaths.keys),
    ])
  func paths(text: String, keys: [String]) throws {
    let places = [
      "challenge": "/{eventId}", "attempt": "/{eventId}", "event": "/{eventId}",
      "validate": "/{accessToken}", "submission": "/{submissionId}", "device": "/{userKey}",
      "otp": "/{code}",
    ]
    for key in keys {
      let path = "/elsewhere" + places[key, default: ""]
      let read = try load(text + "paths = { \(key) = \"\(path)\" }\n")
      let table = try #require(read.providers.first).tomlTable
      guard case .table(let paths)? = table["paths"]?.node.value else {
        Issue.record("the provider's table has no paths")
        continue
      }
      #expect(keys.filter { paths[$0]?.node.value == .string(path) } == [key])
    }
  }

  @Test(
    "a problem with an oidc or paysafe setting does not repeat the refused value",
    arguments: [
      (
        provider,
        [
          "issuer", "client_id", "client_credential", "client_auth", "redirect", "proxy", "ca_file",
          "audience",
        ]
      ),
      (
        wallet,
        [
          "base_url", "brand_identity", "client_id", "client_credential", "exchange", "redirect",
          "app_type", "operations", "paths.token",
        ]
      ),
    ])
  func noEcho(text: String, keys: [String]) {
    for key in keys {
      let others = text.split(separator: "\n").filter { !$0.hasPrefix(key + " ") }
      for value in ["\"hunter2 \\u0001\"", "[\"hunter2 \\u0001\"]", "{ hunter2 = 1 }"] {
        let found = problems(others.joined(separator: "\n") + "\n\(key) = \(value)\n")
        #expect(!found.isEmpty && !found.contains("hunter2"), "\(key)")
      }
    }
  }

  @Test(
    "a provider stored by an earlier version gets defaults for new keys; a bad URL is refused",
    arguments: [
      (
        provider,
        """
        {"name":"work","type":"oidc","issuer":"https://id.example.com","client_id":"usher","gone":1}
        """
      ),
      (
        wallet,
        """
        {"name":"wallet","type":"paysafe","base_url":"https://api.example.com/v1",
        "client_id":"acme-wallet","paths":{"gone":"x"},"gone":1}
        """
      ),
    ])
  func snapshot(text: String, json: String) throws {
    func stored(_ json: String) throws -> ProviderConfig {
      try JSONDecoder().decode(ProviderConfig.self, from: Data(json.utf8))
    }
    #expect(try stored(json) == load(text).providers.first)
    #expect(throws: DecodingError.self) { try stored(json.replacing("https", with: "ftp")) }
    guard text == wallet else { return }
    let path = json.replacing("\"gone\":\"x\"", with: "\"token\":\"x\"")
    #expect(throws: DecodingError.self) { try stored(path) }
  }
}
