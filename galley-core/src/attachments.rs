//! The images of messages: Galley's own copies, one folder for each session below the data directory.

use crate::error::Error;
use crate::store::{Attachment, create_private_dir};
use crate::time::Timestamp;
use galley_protocol::socket::AttachmentKind;
use imagesize::ImageType;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The largest image, in bytes.
const MAX_BYTES: u64 = 20 << 20;
/// The most images of one message.
const MAX_IMAGES: usize = 16;

/// The folder of all images.
pub struct Attachments {
    folder: PathBuf,
}

impl Attachments {
    /// Those below `data_dir`.
    pub fn new(data_dir: &Path) -> Self {
        Self { folder: data_dir.join("attachments") }
    }

    /// Copies images for a message of a session: all of them, or none.
    ///
    /// # Errors
    /// [`Error::InvalidArgs`] when there are too many, or one is missing, too large or no image;
    /// [`Error::Internal`] when a copy cannot be written.
    pub async fn keep(&self, session_id: &str, paths: Vec<String>) -> Result<Vec<Attachment>, Error> {
        if paths.len() > MAX_IMAGES {
            return Err(Error::invalid(format!("{} images are too many; a message takes {MAX_IMAGES}", paths.len())));
        }
        let folder = self.folder.join(session_id);
        blocking(move || {
            let cannot = |error: io::Error| Error::Internal(format!("images cannot be kept in {}: {error}", folder.display()));
            let folder = std::path::absolute(&folder).map_err(cannot)?;
            create_private_dir(&folder).map_err(cannot)?;
            let mut kept = Vec::with_capacity(paths.len());
            for path in &paths {
                match copy(Path::new(path), &folder) {
                    Ok(attachment) => kept.push(attachment),
                    Err(error) => {
                        remove(&kept);
                        return Err(error);
                    }
                }
            }
            Ok(kept)
        })
        .await
    }

    /// Removes copies that belong to no message.
    pub async fn discard(&self, kept: Vec<Attachment>) {
        // One that stays behind goes with its session.
        let _ = blocking(move || {
            remove(&kept);
            Ok(())
        })
        .await;
    }

    /// Removes all images of a session that was deleted.
    pub async fn forget(&self, session_id: &str) {
        let folder = self.folder.join(session_id);
        if let Err(error) = tokio::fs::remove_dir_all(&folder).await
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(session = session_id, %error, "the images of a deleted session stay behind");
        }
    }
}

/// A fresh attachment id.
pub fn new_attachment_id() -> String {
    format!("att_{}", uuid::Uuid::now_v7().simple())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(Error::Internal(format!("copying images ended early: {error}"))))
}

fn remove(kept: &[Attachment]) {
    for attachment in kept {
        if let Err(error) = fs::remove_file(&attachment.path) {
            tracing::warn!(path = attachment.path, %error, "a copied image stays behind");
        }
    }
}

/// Copies one image into `folder`.
fn copy(source: &Path, folder: &Path) -> Result<Attachment, Error> {
    let wrong = |why: String| Error::invalid(format!("image {}: {why}", source.display()));
    if !source.is_absolute() {
        return Err(wrong("the path is not absolute".to_owned()));
    }
    // Looked at before it is opened: opening a pipe would wait for its writer.
    let metadata = fs::metadata(source).map_err(|error| wrong(error.to_string()))?;
    if !metadata.is_file() {
        return Err(wrong("it is no file".to_owned()));
    }
    let too_large = || wrong(format!("it is larger than {} MiB", MAX_BYTES >> 20));
    if metadata.len() > MAX_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    File::open(source).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)).map_err(|error| wrong(error.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_large());
    }
    let (mime_type, extension) = match imagesize::image_type(&bytes) {
        Ok(ImageType::Png) => ("image/png", "png"),
        Ok(ImageType::Jpeg) => ("image/jpeg", "jpg"),
        Ok(ImageType::Webp) => ("image/webp", "webp"),
        _ => return Err(wrong("it is no PNG, JPEG or WebP image".to_owned())),
    };
    let size = imagesize::blob_size(&bytes).ok();
    let pixels = |count: usize| u32::try_from(count).ok();
    let id = new_attachment_id();
    let place = folder.join(format!("{id}.{extension}"));
    let Some(path) = place.to_str().map(ToOwned::to_owned) else {
        return Err(Error::Internal(format!("{} is not valid UTF-8", place.display())));
    };
    if let Err(error) = write(&place, &bytes) {
        // What was begun is of no use; nothing may be there to remove.
        let _ = fs::remove_file(&place);
        return Err(Error::Internal(format!("{path} cannot be written: {error}")));
    }
    Ok(Attachment {
        id,
        kind: AttachmentKind::Image,
        path,
        mime_type: mime_type.to_owned(),
        byte_size: bytes.len() as u64,
        width: size.and_then(|size| pixels(size.width)),
        height: size.and_then(|size| pixels(size.height)),
        created_at: Timestamp::now(),
    })
}

/// Writes a file for this user only, through to the disk: the message that names it will be there
/// after a power cut, too.
fn write(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(place)?;
    file.write_all(bytes)?;
    file.sync_all()
}
