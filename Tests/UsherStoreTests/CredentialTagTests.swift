import FoundationEssentials
import Testing
import UsherCore

@testable import UsherStore

@Suite("Tags of credentials")
struct CredentialTagTests {
  let fixture: StoreFixture
  init() throws { fixture = try StoreFixture() }

  @Test("a credential's value has the same 32-byte tag each time, also after a restart")
  func same() throws {
    let first = try fixture.open()
    let tag = first.tag(ofCredential: Secret("s3cret"), named: "work")
    #expect(tag == first.tag(ofCredential: Secret("s3cret"), named: "work"))
    #expect(tag.count == 32)
    try first.close()
    let second = try fixture.open()
    #expect(tag == second.tag(ofCredential: Secret("s3cret"), named: "work"))
  }

  @Test("another value, name or database gives a credential another tag")
  func other() throws {
    let store = try fixture.open()
    let elsewhere = try StoreFixture()
    let tags: Set = [
      store.tag(ofCredential: Secret("s3cret"), named: "work"),
      store.tag(ofCredential: Secret("s3cret2"), named: "work"),
      store.tag(ofCredential: Secret("s3cret"), named: "work2"),
      store.tag(ofCredential: Secret("2s3cret"), named: "work"),
      try elsewhere.open().tag(ofCredential: Secret("s3cret"), named: "work"),
    ]
    #expect(tags.count == 5)
  }
}
