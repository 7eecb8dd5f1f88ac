import Testing

@testable import UsherConfig

@Suite("Client ids that are addresses of documents")
struct ClientDocumentTests {
  @Test(
    "an https URL with a path can be the address of a document",
    arguments: [
      "https://client.example/usherd.json", "https://client.example:8443/a/b?c=d",
      "https://client.example/a..b/.well-known",
    ])
  func valid(clientID: String) {
    #expect(ClientDocument.violation(clientID) == nil)
  }

  @Test(
    "a client id that is no such URL is the name of a registered client",
    arguments: [
      "usher", "", "http://127.0.0.1/usherd.json", "HTTPS://client.example/a",
      "https://client.example", "https://client.example/", "https://client.example/a/../b",
      "https://client.example/./b", "https://client.example/a/%2E%2e", "https://u@client.example/a",
      "https://client.example/a#b", "https:///a",
    ])
  func invalid(clientID: String) {
    #expect(ClientDocument.violation(clientID) != nil)
  }
}
