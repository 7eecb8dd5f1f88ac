import JSONRPC
import Testing
import UsherCore
import UsherFlows

@Suite("A refusal that repeats secrets")
struct EchoTests {
  private func request(_ body: String, _ authorization: String? = nil) -> HTTPRequest {
    HTTPRequest(
      method: .post, url: "https://id.example.com/token",
      headers: authorization.map { [.init("Authorization", Secret($0))] } ?? [],
      body: Secret(body))
  }

  private func said(_ text: String, to request: HTTPRequest, status: Int = 400) -> String? {
    let answer = reply(
      ["error": "invalid_grant", "error_description": .string(text)], status: status)
    return answer.withoutEchoes(of: request).jsonObject?["error_description"]?.stringValue
  }

  @Test("loses the code, the verifier and the refresh token")
  func form() {
    let sent = request("grant_type=authorization_code&code=SplxlOBe%2F1&code_verifier=dBjftJeZ4CVP")
    #expect(said("code SplxlOBe/1 is unknown", to: sent) == "code … is unknown")
    #expect(said("dBjftJeZ4CVP is wrong", to: sent) == "… is wrong")
    #expect(said("no authorization_code today", to: sent) == "no authorization_code today")
  }

  @Test("loses the client's secret in every form it was sent in")
  func header() {
    // usher:s3cret%2Fwith%2Bodd
    let sent = request("grant_type=refresh_token", "Basic dXNoZXI6czNjcmV0JTJGd2l0aCUyQm9kZA==")
    #expect(said("s3cret/with+odd is wrong", to: sent) == "… is wrong")
    #expect(said("s3cret%2Fwith%2Bodd is wrong", to: sent) == "… is wrong")
    #expect(said("got dXNoZXI6czNjcmV0JTJGd2l0aCUyQm9kZA==", to: sent) == "got …")
    #expect(said("no mF_9.B5f-4.1JqM", to: request("", "Bearer mF_9.B5f-4.1JqM")) == "no …")
  }

  @Test("is found though it comes with status 200")
  func politely() {
    #expect(said("SplxlOBeZQ is old", to: request("code=SplxlOBeZQ"), status: 200) == "… is old")
  }

  @Test(
    "is found in every header that proves who asks, with a scheme or without",
    arguments: [
      "authorization", "Authorization-Customer", "X-SIGNATURE", "x-onekyc-token", "appKey",
    ])
  func headers(name: String) {
    for value in ["linking-secret", "Bearer linking-secret"] {
      let sent = HTTPRequest(
        method: .get, url: "https://id.example.com/", headers: [.init(name, Secret(value))])
      #expect(said("linking-secret is unknown", to: sent) == "… is unknown")
    }
    let harmless = HTTPRequest(
      method: .get, url: "https://id.example.com/",
      headers: [.init("x-merchant-id", Secret("merchant-1"))])
    #expect(said("merchant-1 is unknown", to: harmless) == "merchant-1 is unknown")
  }

  @Test("is the only answer that is touched")
  func granted() {
    let answer = reply(["refresh_token": "tGzv3JOkF0XG5Qx2"])
    #expect(answer.withoutEchoes(of: request("refresh_token=tGzv3JOkF0XG5Qx2")) == answer)
  }

  @Test("keeps its words where what was sent is short")
  func short() {
    #expect(said("a bad code", to: request("code=a")) == "a bad code")
  }
}
