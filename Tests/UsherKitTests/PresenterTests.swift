import FoundationEssentials
import Synchronization
import Testing
import UsherKit

@Suite("A presenter")
struct PresenterTests {
  private final class Recorder: Presenter {
    let pages = Mutex<[URL]>([])
    func present(_ url: URL) { pages.withLock { $0.append(url) } }
  }

  @Test("gets the page to show")
  func shows() throws {
    let recorder = Recorder()
    let page = try #require(URL(string: "https://id.example.com/authorize"))
    let presenter: any Presenter = recorder
    presenter.present(page)
    #expect(recorder.pages.withLock { $0 } == [page])
  }
}
