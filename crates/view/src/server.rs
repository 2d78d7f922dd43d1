//! Local web server for pages. The server listens only on the loopback, and answers only requests
//! with the token of the page's address.

use crate::ViewError;
use crate::limits::{BODY, REQUEST_SECONDS};
use crate::losses::{LossWish, next_loss};
use crate::page;
use crate::play::{self, Play};
use crate::view::{ROWS_SHOWN, View};
use crate::window::WindowRequest;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::{get, post};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// Subject of a page: views of a run, or the playground.
#[derive(Debug)]
enum Subject {
    View(Views),
    Play(Play),
}

/// Views of a run. Each browser tab shows one switch, which its requests name.
#[derive(Debug)]
struct Views {
    /// View of the switch for requests without a switch's name.
    first: Arc<View>,
    /// Views of other switches, the most recently requested view last.
    others: Mutex<Vec<Arc<View>>>,
}

/// Number of cached views in addition to the first view. Other views are opened again.
const OTHERS_KEPT: usize = 3;

impl Views {
    /// Returns the view of a switch, and opens the view if it is not open yet.
    fn open(&self, switch: Option<&str>) -> Result<Arc<View>, ViewError> {
        let Some(name) = switch.filter(|name| *name != self.first.switch()) else {
            return Ok(self.first.clone());
        };
        let others = || self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = others();
        if let Some(at) = open.iter().position(|view| view.switch() == name) {
            let view = open.remove(at);
            open.push(view.clone());
            return Ok(view);
        }
        // Reading a long run takes a second or two, so the code releases the lock for other
        // requests.
        drop(open);
        let view = Arc::new(View::open(self.first.run().dir(), Some(name))?);
        let mut open = others();
        open.push(view.clone());
        let surplus = open.len().saturating_sub(OTHERS_KEPT);
        open.drain(..surplus);
        Ok(view)
    }
}

/// A page with the socket that will serve the page.
#[derive(Debug)]
pub struct Page {
    subject: Arc<Subject>,
    listener: std::net::TcpListener,
    address: SocketAddr,
    token: String,
}

type Shared = State<Arc<Subject>>;

impl Page {
    /// Creates the page of a view, at a port of the loopback; 0 is any free port.
    ///
    /// # Errors
    /// If the port is taken, or the system has no randomness for a token.
    pub fn of_view(view: View, port: u16) -> Result<Self, ViewError> {
        Self::listen(Subject::View(Views { first: Arc::new(view), others: Mutex::default() }), port)
    }

    /// Creates the page of the playground, at a port of the loopback; 0 is any free port.
    ///
    /// # Errors
    /// Returns the errors of [`Self::of_view`].
    pub fn of_play(play: Play, port: u16) -> Result<Self, ViewError> {
        Self::listen(Subject::Play(play), port)
    }

    fn listen(subject: Subject, port: u16) -> Result<Self, ViewError> {
        let serve = || ViewError::io(format!("serve on port {port} of the loopback"));
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(serve())?;
        listener.set_nonblocking(true).map_err(serve())?;
        let address = listener.local_addr().map_err(serve())?;
        let mut token = [0_u8; 16];
        getrandom::fill(&mut token).map_err(|error| ViewError::io("draw a token")(error.into()))?;
        let token = token.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { subject: Arc::new(subject), listener, address, token })
    }

    /// Address of the page in a browser, including the token.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Serves the page until the process ends.
    ///
    /// # Errors
    /// If the operating system refuses to serve.
    pub fn serve(self) -> Result<(), ViewError> {
        let serve = || ViewError::io("serve the page");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(serve())?;
        let base = format!("/{}/", self.token);
        let routes = match *self.subject {
            Subject::View(_) => view_routes(&base),
            Subject::Play(_) => play_routes(&base),
        };
        let app = routes.layer(from_fn_with_state(self.address, refuse_strangers)).with_state(self.subject);
        runtime.block_on(async {
            let listener = TcpListener::from_std(self.listener).map_err(serve())?;
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(attend(stream, app.clone()))),
                    // The system has no resources for more connections: wait until some connections
                    // end.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        })
    }
}

/// Answers the requests of one connection. Closes the connection if a header takes too long.
async fn attend(stream: TcpStream, app: Router) {
    let deadline = Duration::from_secs(REQUEST_SECONDS.most);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(deadline)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    // A browser may close the connection at any time, so this error is ignored.
    let _ = connection.await;
}

fn view_routes(base: &str) -> Router<Arc<Subject>> {
    let at = |path: &str| format!("{base}{path}");
    Router::new()
        .route(&at(""), get(|| async { Html(page::view(None)) }))
        .route(&at("api/about"), get(about))
        .route(&at("api/window"), get(window))
        .route(&at("api/rows"), get(rows))
        .route(&at("api/loss"), get(loss))
        .route(&at("api/query"), get(query))
        .route(&at("api/values"), get(values))
        .route(&at("api/explain"), get(explain))
}

fn play_routes(base: &str) -> Router<Arc<Subject>> {
    let at = |path: &str| format!("{base}{path}");
    Router::new()
        .route(&at(""), get(|| async { Html(page::play()) }))
        .route(&at("api/choices"), get(choices))
        .route(&at("api/run"), post(run))
        .route(&at("api/scenario"), post(save))
}

/// Refuses requests that name another host, because another site's name may resolve to this
/// machine. The function also forbids framing and caching of answers.
async fn refuse_strangers(State(address): State<SocketAddr>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = address.port();
    if host != format!("127.0.0.1:{port}") && host != format!("localhost:{port}") {
        return (StatusCode::FORBIDDEN, "this page is for this machine only").into_response();
    }
    let mut response = next.run(request).await;
    let fixed = [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:",
        ),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, header::HeaderValue::from_static(value));
    }
    response
}

/// An error as JSON for the script of the page.
#[derive(Serialize)]
struct Failure {
    error: String,
}

/// Computes the answer to a request on a separate thread, because the computation may take long and
/// only one thread listens.
async fn answer<T: Serialize + Send + 'static>(
    work: impl FnOnce() -> Result<T, ViewError> + Send + 'static,
) -> Response {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Json(value).into_response(),
        Ok(Err(error)) => {
            let error = format!("{error} ({})", error.hint());
            (StatusCode::UNPROCESSABLE_ENTITY, Json(Failure { error })).into_response()
        }
        Err(_) => {
            let error = "the answer could not be worked out: a defect of bufferlab".to_owned();
            (StatusCode::INTERNAL_SERVER_ERROR, Json(Failure { error })).into_response()
        }
    }
}

/// Switch that a browser tab shows; `None` means the first switch.
#[derive(Deserialize)]
struct At {
    switch: Option<String>,
}

/// Answers a request about the switch that a browser tab shows.
async fn of_view<T: Serialize + Send + 'static>(
    subject: Arc<Subject>,
    at: At,
    work: impl FnOnce(&View) -> Result<T, ViewError> + Send + 'static,
) -> Response {
    if matches!(*subject, Subject::Play(_)) {
        return StatusCode::NOT_FOUND.into_response();
    }
    answer(move || match &*subject {
        Subject::View(views) => work(&*views.open(at.switch.as_deref())?),
        Subject::Play(_) => Err(ViewError::Choice("this page shows no run".to_owned())),
    })
    .await
}

async fn about(State(subject): Shared, Query(at): Query<At>) -> Response {
    of_view(subject, at, View::about).await
}

async fn window(State(subject): Shared, Query(at): Query<At>, Query(wish): Query<WindowRequest>) -> Response {
    of_view(subject, at, move |view| view.window(&wish)).await
}

#[derive(Deserialize)]
struct RowsWish {
    from: u64,
    until: u64,
    port: Option<u16>,
    priority: Option<u8>,
}

async fn rows(State(subject): Shared, Query(at): Query<At>, Query(wish): Query<RowsWish>) -> Response {
    let RowsWish { from, until, port, priority } = wish;
    of_view(subject, at, move |view| page::rows(view, (from, until), (port, priority), ROWS_SHOWN)).await
}

/// Answers with the next or previous loss of the switch; null without such a loss.
async fn loss(State(subject): Shared, Query(at): Query<At>, Query(wish): Query<LossWish>) -> Response {
    of_view(subject, at, move |view| Ok(next_loss(&view.index, &wish))).await
}

#[derive(Deserialize)]
struct QueryWish {
    query: u32,
}

/// Answers with the first packet that a query lost at this switch; null if the switch lost no
/// packet of the query.
async fn query(State(subject): Shared, Query(at): Query<At>, Query(wish): Query<QueryWish>) -> Response {
    of_view(subject, at, move |view| view.loss_of_query(wish.query)).await
}

#[derive(Deserialize)]
struct ValuesWish {
    name: String,
    queue: String,
    from: u64,
    until: u64,
}

async fn values(State(subject): Shared, Query(at): Query<At>, Query(wish): Query<ValuesWish>) -> Response {
    of_view(subject, at, move |view| Ok(view.values(&wish.name, &wish.queue, (wish.from, wish.until)))).await
}

#[derive(Deserialize)]
struct ExplainWish {
    row: Option<u64>,
    from: u64,
    port: Option<u16>,
}

async fn explain(State(subject): Shared, Query(at): Query<At>, Query(wish): Query<ExplainWish>) -> Response {
    of_view(subject, at, move |view| match wish.row {
        Some(row) => view.explain_row(row),
        None => view.explain_from(wish.from, wish.port),
    })
    .await
}

async fn choices(State(_): Shared) -> Response {
    answer(|| Ok(play::choices())).await
}

/// Parses the choices of the playground's user from JSON.
fn read<T: serde::de::DeserializeOwned>(body: &Bytes) -> Result<T, ViewError> {
    serde_json::from_slice(body).map_err(ViewError::Request)
}

/// Returns the body of a request, unless the body is too large or too late.
async fn body_of(request: Request) -> Result<Bytes, StatusCode> {
    let body = axum::body::to_bytes(request.into_body(), BODY.most as usize);
    match tokio::time::timeout(Duration::from_secs(REQUEST_SECONDS.most), body).await {
        Ok(body) => body.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

async fn run(State(subject): Shared, request: Request) -> Response {
    let body = match body_of(request).await {
        Ok(body) => body,
        Err(status) => return status.into_response(),
    };
    answer(move || match &*subject {
        Subject::Play(play) => play.run(&read(&body)?),
        Subject::View(_) => Err(ViewError::Choice("this page has no playground".to_owned())),
    })
    .await
}

async fn save(State(_): Shared, request: Request) -> Response {
    let body = match body_of(request).await {
        Ok(body) => body,
        Err(status) => return status.into_response(),
    };
    answer(move || play::scenario_text(&read(&body)?)).await
}
