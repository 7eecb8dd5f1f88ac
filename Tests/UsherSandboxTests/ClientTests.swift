import Foundation
import Testing

@testable import UsherSandbox

@Suite("OAuth clients of the sandbox")
struct ClientTests {
  @Test(
    "a redirect URI that differs from a registered loopback URI in more than its port is refused",
    arguments: [
      "http://127.0.0.1:5555/callback2", "http://127.0.0.1:5555/", "https://127.0.0.1/callback",
      "http://localhost:5555/callback", "http://127.0.0.1:0/callback",
      "http://127.0.0.1:65536/callback", "http://127.0.0.1:/callback",
      "http://127.0.0.1:80@evil.example/callback", "http://127.0.0.1.evil.example/callback",
      "http://127.0.0.1:1/callback?x=1", "http://127.0.0.1:1/callback#x",
      "HTTP://127.0.0.1/callback", "http://127.0.0.2/callback", "",
    ])
  func refused(_ uri: String) {
    #expect(!publicClient.allowsRedirect(to: uri))
  }

  @Test("a registered redirect URI that is not loopback matches only an identical URI")
  func exact() {
    let client = Client(id: "web", name: "Web", redirectURIs: ["https://app.example/cb"])
    #expect(client.allowsRedirect(to: "https://app.example/cb"))
    #expect(!client.allowsRedirect(to: "https://app.example:443/cb"))
  }

  private func outcome(header: String? = nil, _ form: [String: String]) -> String {
    var call = EndpointCall(.post, "/token", base: "")
    call.headers["authorization"] = header
    do {
      return try ClientRegistry(Client.standard).authenticate(call, Form(form)).id
    } catch {
      return error.error
    }
  }

  private func basic(_ pair: String) -> String {
    "Basic \(Data(pair.utf8).base64EncodedString())"
  }

  @Test("a public client authenticates with client_id alone; any credential gets invalid_client")
  func publicClients() {
    #expect(outcome(["client_id": "usher"]) == "usher")
    #expect(outcome(["client_id": "usher", "client_secret": ""]) == "invalid_client")
    #expect(outcome(header: basic("usher:"), [:]) == "invalid_client")
    #expect(outcome(header: "Bearer x", ["client_id": "usher"]) == "invalid_client")
  }

  @Test(
    "HTTP Basic credentials of a client are accepted only if its id and secret are form-encoded")
  func basicCredentials() {
    #expect(
      outcome(header: basic("usher-confidential:s3cret%3Awith%2Fodd%2Bchars"), [:])
        == "usher-confidential")
    #expect(
      outcome(header: basic("usher-confidential:s3cret:with/odd+chars"), [:])
        == "invalid_client")
    #expect(
      outcome(header: basic("usher-confidential:s3cret%3Awith/odd%2Bchars"), [:])
        == "invalid_client")
    #expect(outcome(header: "Basic %%%", [:]) == "invalid_client")
    #expect(outcome(header: basic("nocolon"), [:]) == "invalid_client")
  }

  @Test("a confidential client authenticates with its secret in exactly one place, form or header")
  func oneMethod() {
    let secret = "s3cret:with/odd+chars"
    let header = basic("usher-confidential:s3cret%3Awith%2Fodd%2Bchars")
    let id = "usher-confidential"
    #expect(outcome(["client_id": id, "client_secret": secret]) == id)
    #expect(outcome(["client_id": id]) == "invalid_client")
    #expect(outcome(["client_id": id, "client_secret": "wrong"]) == "invalid_client")
    #expect(outcome(header: header, ["client_secret": secret]) == "invalid_request")
    #expect(outcome(header: header, ["client_id": "usher"]) == "invalid_request")
    #expect(outcome([:]) == "invalid_client")
  }
}
